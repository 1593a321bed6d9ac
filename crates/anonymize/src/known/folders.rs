//! Folders and files that Debian or the kernel has, or a server that everybody may run.

/// Below these, all of a path is of the system or of its packages.
pub(crate) const WHOLE: &[&str] = &[
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "boot",
    "usr/bin",
    "usr/sbin",
    "usr/lib",
    "usr/lib32",
    "usr/lib64",
    "usr/libexec",
    "usr/share",
    "usr/games",
    "usr/include",
    "var/lib/dpkg",
    "var/lib/apt",
    "var/lib/systemd",
    "var/cache/apt",
    "var/cache/debconf",
    "dev/pts",
    "dev/input",
    "dev/net",
    "dev/bus",
    "dev/cpu",
    "dev/hugepages",
    "dev/mqueue",
    "run/systemd",
    "run/udev",
    "run/dbus",
];

/// Folders whose own names stay; what is in them does not.
// tidy: table
pub(crate) const FOLDERS: &[&str] = &[
    "dev",
    "dev/disk",
    "dev/disk/by-id",
    "dev/disk/by-label",
    "dev/disk/by-partlabel",
    "dev/disk/by-partuuid",
    "dev/disk/by-path",
    "dev/disk/by-uuid",
    "dev/mapper",
    "dev/shm",
    "etc",
    "etc/apt",
    "etc/default",
    "etc/init.d",
    "etc/nginx",
    "etc/systemd",
    "etc/systemd/system",
    "home",
    "media",
    "mnt",
    "opt",
    "proc",
    "root",
    "run",
    "run/lock",
    "run/user",
    "srv",
    "sys",
    "tmp",
    "usr",
    "usr/local",
    "usr/local/bin",
    "usr/local/lib",
    "usr/local/sbin",
    "usr/local/share",
    "usr/src",
    "var",
    "var/backups",
    "var/cache",
    "var/lib",
    "var/lib/containerd",
    "var/lib/containers",
    "var/lib/containers/storage",
    "var/lib/containers/storage/overlay",
    "var/lib/docker",
    "var/lib/docker/containers",
    "var/lib/docker/overlay2",
    "var/lib/docker/volumes",
    "var/lib/etcd",
    "var/lib/kubelet",
    "var/lib/libvirt",
    "var/lib/libvirt/images",
    "var/lib/mongodb",
    "var/lib/mysql",
    "var/lib/nfs",
    "var/lib/postgresql",
    "var/lib/rabbitmq",
    "var/lib/redis",
    "var/log",
    "var/log/journal",
    "var/log/mysql",
    "var/log/nginx",
    "var/log/postgresql",
    "var/mail",
    "var/run",
    "var/spool",
    "var/spool/cron",
    "var/spool/postfix",
    "var/tmp",
    "var/www",
];

/// Names of files and folders that stay wherever they are: of databases, version control, containers.
pub(crate) const FILES: &str = ". .. ... lost+found .git .cache .config .local .ssh .nfs .Trash objects pack refs \
                                heads index node_modules target \
    pg_wal pg_xlog pg_xact pg_clog pg_stat pg_stat_tmp pg_tblspc pg_subtrans pg_multixact pg_replslot pgsql_tmp base \
    global postmaster.pid \
    ibdata1 ibtmp1 undo_001 undo_002 aria_log_control binlog relay-log performance_schema dump.rdb appendonly.aof \
    appendonlydir \
    member snap wal db data log logs tmp temp cache diff merged work upper lower rootfs volumes overlay overlay2 cur \
    new \
    passwd group hosts resolv.conf nsswitch.conf ld.so.cache ld.so.preload localtime fstab mtab services protocols";

/// Ends of names that stay: they say what a file is.
pub(crate) const SUFFIXES: &str = "a aof avro bak bin bz2 c cc cfg class conf cpp crt csv cpy css dat db deb err fdb \
                                   frm go gz h html ibd img ini \
    iso jar java jpg js json journal key ko ldf ldb lock log lz4 mbox md mdb mdf mp4 ndb new o old orc parquet pack \
    part pdf php pid pl png \
    py pyc qcow2 raw rb rdb rej rpm rs sh so sock sql sqlite sqlite3 sst swp tar tbl temp tgz tmp toml ts txt vdi vhd \
    vmdk wal war xml xz \
    yaml yml zip zst 0 1 2 3 4 5 6 7 8 9";
