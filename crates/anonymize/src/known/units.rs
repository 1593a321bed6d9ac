//! Cgroups and units that every Debian has.

/// Cgroups that are no units.
pub(crate) const GROUPS: &str = ".. init system user machine docker kubepods besteffort burstable guaranteed \
                                 libpod_parent lxc lxc.payload lxc.monitor \
    lxc.pivot container payload supervisor user.slice system.slice machine.slice init.scope -.slice app.slice \
    session.slice background.slice \
    kubepods.slice kubepods-besteffort.slice kubepods-burstable.slice kubepods-guaranteed.slice kubelet.slice \
    runtime.slice podruntime.slice \
    containers.slice podman-kube.slice blkio cpu cpuacct cpuset memory devices freezer net_cls net_prio perf_event \
    hugetlb pids rdma misc unified \
    systemd cpu,cpuacct net_cls,net_prio";

/// Units of packages, without their kind.
pub(crate) const UNITS: &str = "ssh sshd cron crond atd anacron rsyslog syslog dbus dbus-broker polkit NetworkManager \
                                wpa_supplicant avahi-daemon cups \
    smartd smartmontools irqbalance acpid snapd fwupd packagekit unattended-upgrades apt-daily apt-daily-upgrade \
    logrotate man-db fstrim e2scrub_all \
    e2scrub_reap mdmonitor mdcheck_start lvm2-monitor lvm2-lvmpolld multipathd iscsid udisks2 upower chrony chronyd \
    ntp ntpsec auditd ufw nftables \
    firewalld fail2ban docker containerd podman crio kubelet libvirtd virtlogd qemu-guest-agent lxcfs nginx apache2 \
    httpd haproxy postgresql mysql \
    mysqld mariadb redis redis-server valkey-server memcached mongod mongodb etcd rabbitmq-server prometheus \
    grafana-server elasticsearch \
    clickhouse-server postfix dovecot exim4 clamav-daemon clamav-freshclam nfs-server nfs-kernel-server nfs-mountd \
    nfs-idmapd nfsdcld rpcbind rpc-statd \
    smbd nmbd winbind gdm lightdm sddm getty console-getty serial-getty user user-runtime-dir plocate-updatedb \
    updatedb dpkg-db-backup zfs-zed \
    zfs-mount zfs-import-cache tmp dev-hugepages dev-mqueue sys-kernel-debug sys-kernel-tracing sys-kernel-config \
    sys-fs-fuse-connections \
    proc-sys-fs-binfmt_misc run-lock boot boot-efi";

/// Kinds of units.
pub(crate) const KINDS: &[&str] =
    &[".service", ".scope", ".slice", ".mount", ".socket", ".swap", ".timer", ".automount", ".partition"];

/// What engines put before a container's or a pod's id.
pub(crate) const CONTAINER_PREFIXES: &[&str] = &[
    "docker-",
    "libpod-conmon-",
    "libpod-",
    "cri-containerd-",
    "crio-conmon-",
    "crio-",
    "nerdctl-",
    "kubepods-besteffort-pod",
    "kubepods-burstable-pod",
    "kubepods-guaranteed-pod",
    "kubepods-pod",
    "pod",
    "",
];
