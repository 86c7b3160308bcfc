#!/bin/sh
# image.sh BUILD FOLDER: builds deploy/Containerfile in FOLDER with buildah, on a base of the same name that
# is made from Debian's packages, this machine's npm and the packaged Node. Needs root, no registry of images.
# image.sh RUN ROOT COMMAND…: runs COMMAND in the image's file system as the runtime would: read-only, as user
# 10001, without a capability, with namespaces of its own.
set -eu
NODE_IMAGE=docker.io/library/node:24-bookworm-slim

build() {
  folder=$1
  root=$folder/root
  buildah="buildah --root $folder/storage --runroot $folder/run --storage-driver vfs"
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" >&2
  # The image of Node has npm here, and this machine may need more certificates than Debian's.
  cp node_modules/node-linux-*/bin/node "$root/usr/local/bin/node"
  mkdir -p "$root/usr/local/lib/node_modules"
  cp -r "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$root/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  tar -C "$root" -cf "$folder/base.tar" .
  rm -rf "$root"
  printf 'FROM scratch\nADD base.tar /\nENV PATH=%s NODE_EXTRA_CA_CERTS=%s\n' \
    /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /etc/ssl/certs/ca-certificates.crt >"$folder/Base"
  $buildah build --isolation chroot -f "$folder/Base" -t "$NODE_IMAGE" "$folder" >&2
  $buildah build --isolation chroot --pull=never --format docker -f deploy/Containerfile -t toolgate . >&2
  container=$($buildah from --pull=never toolgate)
  $buildah inspect --type image toolgate >"$folder/image.json"
  $buildah mount "$container"
}

inside() {
  root=$1
  shift
  mount --bind "$root" "$root"
  mount -o remount,bind,ro "$root"
  mount -t proc proc "$root/proc"
  mount -t tmpfs tmpfs "$root/tmp"
  mount -t tmpfs tmpfs "$root/dev"
  for device in null zero random urandom; do
    : >"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
  done
  exec chroot "$root" /usr/bin/setpriv --reuid=10001 --regid=10001 --clear-groups --bounding-set=-all \
    --inh-caps=-all --no-new-privs /usr/bin/env -C "$WORKDIR" "$@"
}

case $1 in
BUILD) build "$2" ;;
RUN) shift && exec unshare --mount --pid --ipc --uts --fork --kill-child "$0" INSIDE "$@" ;;
INSIDE) shift && inside "$@" ;;
esac
