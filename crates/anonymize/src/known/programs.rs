//! Programs that many machines run, and threads of the kernel.

/// What the kernel's own threads begin with; what follows is no letter.
pub(crate) const KERNEL_THREADS: &str = "swapper kthreadd kworker ksoftirqd migration rcu_gp rcu_par_gp rcu_preempt \
                                         rcu_sched rcu_tasks_kthre \
    rcu_tasks_rude_ rcu_tasks_trace rcu_exp_gp_kthr rcu_exp_par_gp_ rcuog rcuop rcuos rcub kswapd kcompactd khugepaged \
    ksmd kblockd kdevtmpfs \
    oom_reaper kdamond. kdamond writeback flush jbd2 ext4-rsv-conver ext4lazyinit xfsaild xfsalloc xfs_mru_cache \
    xfs-buf xfs-conv xfs-reclaim xfs-blockgc \
    xfs-inodegc xfs-log xfs-cil xfs-sync xfs-eofblocks xfs-gc btrfs-transacti btrfs-cleaner btrfs-worker btrfs-endio \
    btrfs-endio-wri \
    btrfs-endio-met btrfs-delayed-m btrfs-delalloc btrfs-flush_del btrfs-submit btrfs-rmw btrfs-uuid btrfs-balance \
    btrfs-cache btrfs-fixup \
    btrfs-compressi btrfs-freespace btrfs-qgroup-re btrfs-readahead f2fs_gc f2fs_ckpt f2fs_discard loop md raid1 \
    raid10 raid5 raid6 md_raid1 \
    dmcrypt_write kcryptd kcryptd_io kdmflush kcopyd dm_bufio_cache dm-thin dm-cache scsi_eh_ scsi_tmf_ nvme nvme-wq \
    nvme-reset-wq nvme-delete-wq \
    nbd knbd iou-wrk- iou-sqp- io_wqe_worker io_wqe_manager cpuhp idle_inject watchdogd watchdog irq kauditd nfsd \
    nfsv4 lockd rpciod nfsiod \
    NFSv4 xprtiod cifsd cifsiod ceph-msgr zram khungtaskd kintegrityd ata_sff ipv6_addrconf mld mm_percpu_wq netns \
    inet_frag_wq fsnotify_mark \
    ecryptfs-kthrea hwrng psimon napi vhost kvm-nx-lpage-re kvm-pit card z_wr_iss z_wr_int z_rd_int z_null_iss \
    txg_sync txg_quiesce spl_dynamic_tas \
    arc_prune arc_evict arc_reap dbuf_evict l2arc_feed bcache_allocato bcache_gc bcache_writebac drbd_w drbd_r drbd_s \
    slub_flushwq cgroup_destroy \
    edac-poller devfreq_wq charger_manager tpm_dev_wq acpi_thermal_pm kthrotld zswap-shrink kstrp stopper backlight";

/// Programs, and threads that they name, as the kernel keeps their names: 15 bytes.
pub(crate) const PROGRAMS: &str = "init systemd systemd-journal systemd-udevd systemd-logind systemd-network \
                                   systemd-resolve systemd-timesyn \
    systemd-oomd systemd-tmpfile systemd-shutdow systemd-run systemd-sysctl systemd-fsck (sd-pam) (udev-worker) \
    dbus-daemon dbus-broker polkitd \
    agetty login su sudo sshd sshd-session cron crond atd anacron rsyslogd rs:main auditd chronyd ntpd udisksd \
    dhclient NetworkManager wpa_supplicant \
    avahi-daemon cupsd smartd irqbalance acpid snapd fwupd packagekitd unattended-upgr logrotate mandb man updatedb \
    updatedb.plocat locate \
    sh bash dash zsh ash ksh fish busybox tmux screen less more vim vi nano emacs cat cp mv rm ln ls dd df du find \
    xargs grep sed awk gawk mawk \
    sort uniq wc head tail tee touch mkdir rmdir mktemp chmod chown stat sync fsync truncate fallocate fsfreeze fstrim \
    losetup mount umount mkfs \
    mkfs.ext4 mke2fs mkfs.xfs mkfs.btrfs e2fsck fsck tune2fs resize2fs xfs_repair xfs_growfs xfs_freeze btrfs lvm lvs \
    lvcreate dmsetup mdadm \
    cryptsetup multipathd iscsid blkid lsblk sleep timeout nice ionice taskset kill pkill ps top htop iotop free \
    vmstat iostat sar pidstat strace \
    ltrace gdb perf bpftrace tcpdump ping curl wget ssh scp sftp rsync rclone tar gzip pigz bzip2 xz zstd zip unzip \
    cpio sha256sum md5sum cksum b2sum \
    openssl gpg git git-remote-http hg svn make cmake ninja gcc g++ cc1 cc1plus collect2 as ld ld.lld clang rustc \
    cargo go gofmt javac mvn gradle npm \
    yarn pip pip3 apt apt-get dpkg dpkg-deb dnf yum rpm snap flatpak python python2 python3 perl ruby php php-fpm node \
    deno bun java lua Rscript R \
    postgres postmaster psql pg_dump pg_basebackup pgbench initdb pg_ctl pgbouncer mysqld mariadbd mysql mariadb \
    mysqldump mariadb-dump redis-server \
    redis-cli redis-benchmark valkey-server memcached mongod mongos mongo etcd etcdctl rabbitmq-server beam.smp \
    erl_child_setup epmd inet_gethost \
    cassandra clickhouse-serv elasticsearch influxd prometheus grafana node_exporter telegraf collectd sqlite3 nginx \
    apache2 httpd haproxy envoy \
    varnishd squid caddy traefik lighttpd dockerd docker docker-proxy containerd containerd-shim runc crun conmon \
    podman buildah skopeo kubelet \
    kube-proxy kube-apiserver kube-scheduler kube-controller coredns k3s lxc-start lxcfs qemu-system-x86 qemu-img \
    qemu-nbd virtiofsd libvirtd vhostd \
    nbd-server nbd-client nfsdcld rpcbind rpc.mountd rpc.statd rpc.idmapd smbd nmbd winbindd gvfsd fusermount \
    fusermount3 sshfs s3fs rclonefs \
    bindfs ntfs-3g mergerfs glusterfs glusterfsd ceph-osd ceph-mon ceph-fuse restic borg bacula-fd duplicity postfix \
    master qmgr pickup smtpd dovecot \
    exim4 clamd freshclam fio iozone bonnie++ dbench sysbench stress stress-ng mdtest ior stallscope tracer sampler \
    archive recorder cfs nfsmount \
    systemctl journalctl loginctl hostnamectl crontab run-parts debconf frontend mmdebstrap debootstrap ansible puppet \
    chef-client salt-minion \
    libuv-worker node-MainThread V8Worker Worker bio_close_file bio_aof bio_aof_fsync bio_lazy_free jemalloc_bg_thd \
    io_thd_1 io_thd_2 ib_io_ibuf ib_io_log \
    ib_io_rd- ib_io_wr- ib_pg_flush ib_log_writer ib_log_flush ib_log_checkpt ib_srv_purge ib_srv_wkr ib_dict_stats \
    ib_buf_dump connection signal_hand \
    scheduler 1_scheduler 2_scheduler 1_dirty_cpu_sch 1_dirty_io_sche erts_dios_ erts_dcpus_ erts_dirty_cpu \
    erts_async_ aux 1_aux sys_sig_dispatc \
    sys_msg_dispatc async_1 VM VMThread G1 GC C1 C2 Reference Finalizer Signal DestroyJavaVM Notification ForkJoinPool \
    Common-Cleaner";

/// Words of what processes say of themselves: PostgreSQL's sessions and helpers, nginx, Redis; tools' subcommands.
pub(crate) const TITLE_WORDS: &str = "postgres: nginx: sshd: php-fpm: idle in transaction (aborted) waiting [local] \
                                      [priv] startup recovering \
    checkpointer walwriter walsender walreceiver writer background bgwriter autovacuum launcher worker logical \
    replication stats collector \
    archiver logger io parallel process master cache manager loader for PID pool www SELECT INSERT UPDATE DELETE MERGE \
    COPY ALTER TABLE CREATE \
    DROP INDEX VACUUM ANALYZE REINDEX CLUSTER CHECKPOINT BEGIN COMMIT ROLLBACK TRUNCATE LOCK FETCH DECLARE EXECUTE \
    PREPARE EXPLAIN REFRESH \
    MATERIALIZED VIEW BIND PARSE authentication BASE_BACKUP START_REPLICATION streaming redis-rdb-bgsave \
    redis-aof-rewrite \
    add apply backup balance bisect blame branch build checkout clean clone commit compact compose create delete \
    describe diff exec export fetch \
    fsck gc get import init install list load log logs ls maintenance merge mount pack-objects index-pack prune pull \
    push rebase receive \
    remove repack reset restore rm run save scrub send snapshot stash start status stop submodule subvolume tag test \
    unpack-objects update \
    upgrade upload-pack verify worktree write x";
