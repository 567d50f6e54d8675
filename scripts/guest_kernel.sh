#!/bin/sh
# Builds a user-mode Linux for guests from the sources that Debian packages, in a folder of its own.
#
#   scripts/guest_kernel.sh FOLDER [PACKAGE]
#
# PACKAGE is the package with the sources, linux-source-6.1 by default; another one gives another kernel on which a
# token can be tried. Nothing is installed and no root is needed, but the tools of a kernel build must be there. All
# file systems that sisyfs knows are built in, so that the kernel needs no modules. At the end the command to use it is
# printed. Takes about 15 minutes of a processor and 2 GiB.
#
# Exit codes: 2 wrong arguments or missing tools, 4 a step failed; FOLDER/build.log has its output.
set -eu

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  echo "usage: $0 FOLDER [PACKAGE]" >&2
  exit 2
fi
folder=$1
package=${2:-linux-source-6.1}
missing=
for tool in apt-get dpkg-deb make gcc flex bison bc xz; do
  command -v "$tool" >/dev/null || missing="$missing $tool"
done
if [ -n "$missing" ]; then
  echo "$0: these tools are missing:$missing; install make gcc flex bison bc xz-utils" >&2
  exit 2
fi
mkdir -p "$folder"
cd "$folder"
folder=$PWD
log=$folder/build.log
: >"$log"

step() { # what, command...
  echo "$1" >&2
  shift
  "$@" >>"$log" 2>&1 && return
  tail -n 20 "$log" >&2
  exit 4
}

if [ ! -d "$folder/$package" ]; then
  step "download $package" apt-get download "$package"
  set -- "$folder/${package}"_*.deb
  step 'unpack the package' dpkg-deb -x "$1" "$folder/package"
  step 'unpack the sources' tar -xf "$folder/package/usr/src/$package.tar.xz" -C "$folder"
  rm -rf "$folder/package" "$1"
fi

# On top of the usual configuration of user-mode Linux. The initial RAM disk holds the agent; without modules all is
# in one file. A statically linked kernel cannot be given a clock of its own. The flash mtdram needs memory of
# devices (HAS_IOMEM), which user-mode Linux has with a simulated PCI only; its number only has to be a valid one.
cat >"$folder/fragment" <<'END'
# CONFIG_STATIC_LINK is not set
# CONFIG_MODULES is not set
# CONFIG_INET is not set
# CONFIG_NETDEVICES is not set
# CONFIG_SOUND is not set
# CONFIG_MD is not set
# CONFIG_RAID6_PQ_BENCHMARK is not set
CONFIG_DEBUG_INFO_NONE=y
CONFIG_BLK_DEV_INITRD=y
CONFIG_KALLSYMS=y
CONFIG_DEVTMPFS=y
CONFIG_PROC_FS=y
CONFIG_PROC_PAGE_MONITOR=y
CONFIG_SYSFS=y
CONFIG_NET=y
CONFIG_UNIX=y
CONFIG_SSL=y
CONFIG_NULL_CHAN=y
CONFIG_MAGIC_SYSRQ=y
CONFIG_BLK_DEV=y
CONFIG_BLK_DEV_NBD=y
CONFIG_EXT2_FS=y
CONFIG_EXT2_FS_XATTR=y
CONFIG_EXT4_FS=y
CONFIG_XFS_FS=y
CONFIG_BTRFS_FS=y
CONFIG_JFS_FS=y
CONFIG_REISERFS_FS=y
CONFIG_REISERFS_FS_XATTR=y
CONFIG_F2FS_FS=y
CONFIG_F2FS_FS_XATTR=y
CONFIG_NILFS2_FS=y
CONFIG_VFAT_FS=y
CONFIG_MSDOS_FS=y
CONFIG_NLS_ASCII=y
CONFIG_NLS_CODEPAGE_437=y
CONFIG_NLS_ISO8859_1=y
CONFIG_NLS_UTF8=y
CONFIG_MINIX_FS=y
CONFIG_UDF_FS=y
CONFIG_MISC_FILESYSTEMS=y
CONFIG_HFSPLUS_FS=y
CONFIG_OVERLAY_FS=y
CONFIG_VIRTIO_MENU=y
CONFIG_VIRTIO_UML=y
CONFIG_UML_PCI_OVER_VIRTIO=y
CONFIG_UML_PCI_OVER_VIRTIO_DEVICE_ID=1234
CONFIG_MTD=y
CONFIG_MTD_MTDRAM=y
CONFIG_MTD_UBI=y
CONFIG_JFFS2_FS=y
CONFIG_JFFS2_FS_XATTR=y
CONFIG_UBIFS_FS=y
END
cd "$folder/$package"
step 'configure' make ARCH=um defconfig
step 'configure' sh scripts/kconfig/merge_config.sh -m .config "$folder/fragment"
step 'configure' make ARCH=um olddefconfig
step 'build (about 15 minutes of a processor)' make ARCH=um -j"$(nproc)" linux
cp linux "$folder/linux"
echo "use it with: ./sisyfs check ext4 --kernel $folder/linux"
