#!/bin/sh
# A bare Debian that boots its own systemd in namespaces of its own. Needs root, mmdebstrap and cgroup v2.
# machine.sh BUILD FOLDER: installs Debian 13 in FOLDER/root.
# machine.sh BOOT FOLDER NAME: boots it in the control group NAME; prints "booting", runs until it is killed.
# machine.sh END FOLDER NAME: kills every process of it and removes its control group.
set -eu

build() {
  root=$1/root
  mmdebstrap --quiet --mode=root --variant=minbase --include=dbus,systemd,systemd-sysv \
    --dpkgopt=force-unsafe-io trixie "$root" >&2
  # Authorities that this machine trusts beside Debian's; found by `apt-get install ca-certificates`.
  mkdir -p "$root/usr/local/share/ca-certificates"
  find /usr/local/share/ca-certificates -name '*.crt' -exec cp {} "$root/usr/local/share/ca-certificates/" \;
  # Settings and modules of the kernel belong to the host.
  ln -s /dev/null "$root/etc/systemd/system/systemd-modules-load.service"
  ln -s /dev/null "$root/etc/systemd/system/systemd-sysctl.service"
  echo toolgate-machine >"$root/etc/hostname"
  echo 'nameserver 10.0.2.3' >"$root/etc/resolv.conf"
}

# Mounts the control groups where only this process sees them.
control_groups() {
  mkdir -p "$1/groups"
  mount -t cgroup2 cgroup2 "$1/groups"
}

boot() {
  control_groups "$1"
  mkdir "$1/groups/$2"
  echo $$ >"$1/groups/$2/cgroup.procs"
  exec unshare --cgroup --ipc --mount --net --pid --uts --fork --kill-child "$0" INIT "$1/root"
}

init() {
  root=$1
  mount --bind "$root" "$root"
  cd "$root"
  mount -t proc proc proc
  mount -t sysfs -o ro sysfs sys
  mount -t cgroup2 cgroup2 sys/fs/cgroup
  mount -t tmpfs -o mode=755 tmpfs run
  mount -t tmpfs -o mode=755 tmpfs dev
  for device in null zero full random urandom tty; do
    : >"dev/$device"
    mount --bind "/dev/$device" "dev/$device"
  done
  mkdir dev/pts dev/shm
  mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
  ln -s pts/ptmx dev/ptmx
  ln -s /proc/self/fd dev/fd
  # Packages that this machine has downloaded before.
  mkdir -p var/cache/npm
  [ -z "${NPM_CACHE-}" ] || mount --bind "$NPM_CACHE" var/cache/npm
  hostname toolgate-machine
  pivot_root . mnt
  umount -l /mnt
  # Units get their credentials by mounts that appear in all namespaces of the machine.
  mount --make-rshared /
  echo booting
  exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /sbin/init
}

end() {
  control_groups "$1"
  [ -d "$1/groups/$2" ] || return 0
  echo 1 >"$1/groups/$2/cgroup.kill"
  until grep -qx 'populated 0' "$1/groups/$2/cgroup.events"; do :; done
  find "$1/groups/$2" -depth -type d -exec rmdir {} \;
}

action=$1
shift
case $action in
INIT) init "$@" ;;
# Mounts vanish with the process that made them.
BUILD) exec unshare --mount --pid --fork --kill-child --mount-proc "$0" IN_BUILD "$@" ;;
BOOT | END) exec unshare --mount "$0" "IN_$action" "$@" ;;
IN_BUILD) build "$@" ;;
IN_BOOT) boot "$@" ;;
IN_END) end "$@" ;;
esac
