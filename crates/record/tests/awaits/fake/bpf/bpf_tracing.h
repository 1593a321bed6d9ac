/* In place of libbpf's: no program is compiled. */
#pragma once
