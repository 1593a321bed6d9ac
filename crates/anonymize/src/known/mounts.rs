//! What is mounted, and how.

/// Sources of file systems without a disk.
pub(crate) const PSEUDO_SOURCES: &str = "none tmpfs devtmpfs overlay overlayfs proc sysfs udev devpts cgroup cgroup2 \
                                         systemd-1 hugetlbfs mqueue \
    debugfs tracefs securityfs pstore bpf fusectl configfs binfmt_misc shm nsfs rpc_pipefs sunrpc nfsd ramfs rootfs \
    efivarfs selinuxfs lxcfs \
    fuse portal gvfsd-fuse squashfs";

/// Options with values that name nobody.
pub(crate) const VALUED_OPTIONS: &str = "data errors size mode vers nfsvers proto sec rsize wsize bsize timeo retrans \
                                         namlen acregmin acregmax acdirmin \
    acdirmax actimeo compress compress-force subvolid space_cache logbufs logbsize sunit swidth commit nr_inodes \
    nr_blocks uid gid user_id \
    group_id max_read blksize stripe barrier jqfmt lookupcache local_lock iocharset codepage shortname cache discard \
    thread_pool metadata_ratio \
    resuid resgid init_itable dax prjquota allocsize huge mpol inode64 inode32 nconnect max_connect fsc \
    clientaddr_family port mountport \
    mountproto mountvers minorversion redirect_dir index xino metacopy uuid_mode nfs_export volatile fmask dmask umask \
    posix actimeo echo_interval \
    closetimeo rasize wsync mds_namespace fsync_mode background_gc alloc_mode active_logs compress_algorithm \
    checkpoint gid_map dos_charset";
