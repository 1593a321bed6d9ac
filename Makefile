# Start with `make demo` and `make test`. Each target names the packages that it installs before it does.

PREFIX ?= /usr/local
CARGO ?= cargo
PROGRAM := target/release/stallscope

.PHONY: all demo build mpi fleet ballista test test-fleet test-mpi test-vm test-distro torture campaign fuzz lint \
    corpus bench whatif-bench page generated pictures install dist clean

all: build

build:
	@scripts/need build
	@$(CARGO) build --release --locked --package stallscope

demo:
	@scripts/need build demo
	@$(CARGO) build --release --locked --package stallscope
	@$(PROGRAM) demo

test:
	@scripts/need build test
	@scripts/test

# The program with ranks over many machines (docs/MPI.md), which needs MPI's library to run, beside the main one.
mpi:
	@scripts/need build mpi
	$(CARGO) build --release --locked --package stallscope --features mpi --target-dir target/mpi
	install -D -m 755 target/mpi/release/stallscope target/release/stallscope-mpi

# The program that asks a lake (docs/FLEET.md), beside the main one: a build of its own, which takes minutes.
fleet:
	@scripts/need build
	$(CARGO) build --manifest-path fleet/Cargo.toml --release --locked
	install -D -m 755 fleet/target/release/stallscope-fleet target/release/stallscope-fleet

# Its tests, of the optimized engine, which is compiled once for both: with the generator in one call, it would have
# other features. FLEET_PROFILE=dev: of an engine that is not optimized.
FLEET_PROFILE ?= release
test-fleet:
	@scripts/need build dist
	$(if $(filter release,$(FLEET_PROFILE)),@$(MAKE) fleet)
	@scripts/test-fleet $(FLEET_PROFILE)

# The program with ranks, as the tests have built the rest of it, on this machine and on network namespaces of it.
test-mpi:
	@scripts/need build mpi
	$(CARGO) build --locked --workspace --bins --features stallscope/mpi
	install -m 755 target/debug/stallscope target/debug/stallscope-mpi
	@scripts/test-mpi target/debug/stallscope-mpi
	@scripts/test-mpi-set target/debug/stallscope-mpi

# A cluster of Ballista, which fleet/tests/engines.py compares with other engines: a build of its own again, of all of
# the engine.
ballista:
	@scripts/need build
	$(CARGO) build --manifest-path fleet/ballista/Cargo.toml --release --locked

test-vm:
	@scripts/need build vm
	@scripts/test-vm $(if $(RECORDINGS),-r $(RECORDINGS)) $(foreach kernel,$(KERNELS),-k $(kernel))

# Stalls of known cause on Debian as installed (docs/SUPPORT.md): SUITES="bookworm trixie testing", KERNEL=cloud or rt,
# SCENARIOS="own_*".
test-distro:
	@scripts/need build dist distro
	@scripts/test-distro $(foreach suite,$(SUITES),-s $(suite)) $(if $(KERNEL),-k $(KERNEL)) \
	    $(foreach scenario,$(SCENARIOS),-c '$(scenario)')

# Kills, faults and damage (docs/RELIABILITY.md), chosen by SEED, POINTS of each kind, JOBS at a time: hours, as root.
SEED ?= 1
POINTS ?= 2000
JOBS ?= 6
torture: export PROGRAM ?= $(CURDIR)/target/release/stallscope
torture:
	@scripts/need build test
	$(CARGO) build --release --locked --package stallscope
	$(CARGO) test --locked -p stallscope --test torture -- $(CAMPAIGN) --seed $(SEED) --points $(POINTS) --jobs $(JOBS)

# Fuzzing, kills, faults, damage and enumerated crashes for MINUTES, kept in docs/campaigns.tsv (scripts/campaign).
MINUTES ?= 30
campaign:
	scripts/campaign -m $(MINUTES)

# The readers, with coverage feedback (fuzz/README.md): each of TARGETS, or all, for FUZZ_SECONDS.
FUZZ_SECONDS ?= 60
fuzz:
	scripts/fuzz -t $(FUZZ_SECONDS) $(TARGETS)

lint:
	@scripts/need build lint
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --workspace --test torture --test vm --locked -- -D warnings
	$(CARGO) clippy --manifest-path fuzz/Cargo.toml --bins --locked -- -D warnings
	$(CARGO) xtask tidy
	$(CARGO) xtask deny

# Accept what the program answers of the corpus (corpus/README.md): then look at the changes of corpus/answers.toml.
corpus:
	@scripts/need build test
	$(CARGO) test --locked -p stallscope --test corpus -- accept

# Cost and speed, which docs/COST.md has: it is rewritten.
bench: export COST_PAGE = $(CURDIR)/docs/COST.md
bench:
	@scripts/need build demo bench
	@$(CARGO) build --release --locked --workspace --examples --bins
	@bench/costs.sh
	@bench/samplers.sh
	@bench/blk.sh
	@bench/trace.sh
	@bench/flight.sh
	@bench/rewrite.sh
	@bench/fsmark.sh
	@bench/randrw.sh

# Predictions of `explain --what-if` beside trials of the same remedies, and trials of nothing: about an hour.
whatif-bench:
	@scripts/need build demo bench
	@$(CARGO) build --release --locked --package stallscope
	@bench/remedies.sh
	@bench/trials.sh

# Screenshots of the report for the docs, from a new demo run (RUN=DIR: from that run).
pictures: RUN ?= target/pictures/run
pictures: build
	@test -e $(RUN) || { mkdir -p target/pictures && $(PROGRAM) demo --quiet --json >target/pictures/demo.json && \
	    ln -sfn "$$(realpath "$$(python3 -c 'import json; print(json.load(open("target/pictures/demo.json"))["run"])')")" $(RUN); }
	PICTURES_OF="$$(realpath $(RUN))" PICTURES="$(CURDIR)/docs/images" \
	    $(CARGO) test --locked -p stallscope --test program -- pictures::

# Build the report's program from crates/page/web/src. Its bundle is committed, so that only this target needs node.
page:
	cd crates/page/web && npm ci && npm run build

# What is generated: tables of docs/FORMAT.md, docs/RULES.md, types of the page's program.
generated:
	UPDATE_GENERATED=1 $(CARGO) test --locked -p archive -p explain -p page --lib -- is_generated

install: build
	install -D -m 755 --strip $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/stallscope
	$(PROGRAM) generate target/generated
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	    $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 644 target/generated/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 target/generated/stallscope.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/stallscope
	install -m 644 target/generated/_stallscope $(DESTDIR)$(PREFIX)/share/zsh/site-functions/
	install -m 644 target/generated/stallscope.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/

# Make a release: a static program in an archive and in a Debian package, and stallscope-fleet in others. They are
# separate builds and take many minutes.
dist:
	@scripts/need build dist
	@scripts/dist

clean:
	$(CARGO) clean
