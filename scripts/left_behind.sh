#!/bin/sh
# Starts a check of a kernel file system again and again, ends it with a signal at some moment, and looks whether
# anything is left: a process, a mount, a loop device, a file in /tmp, in /dev/shm or in the current folder.
#
# usage: left_behind.sh PROGRAM RUNS SIGNAL[,SIGNAL...] [SECONDS [host]]   left_behind.sh build/release/sisyfs 100 KILL,INT,TERM 8
#
# The signals are used in turn, each at another moment within the first SECONDS (4). With "host" the check is one of the
# running kernel, as root. /tmp and /dev/shm are private to this script, for which it needs to be root or to have user
# namespaces; with "host" the processes are, too.
# Exit codes: 0 nothing was left, 1 something was, 2 usage, 3 it cannot be tried here.
set -u

[ $# -ge 3 ] || { sed -n '5s/# //p' "$0" && exit 2; }
program=$(readlink -f "$1")
seconds=${4:-4}
kernel=${5:-guest}
if [ "${6:-}" != inside ]; then
  flags=-m
  [ "$(id -u)" -eq 0 ] || flags=-rm
  [ "$kernel" = host ] && flags='-m -p -f --mount-proc'
  # shellcheck disable=SC2086
  unshare $flags true 2>/dev/null || { echo "no mount namespaces here" && exit 3; }
  # shellcheck disable=SC2086
  exec unshare $flags "$(readlink -f "$0")" "$program" "$2" "$3" "$seconds" "$kernel" inside
fi
on=
[ "$kernel" = host ] && on=--host

mount -t tmpfs none /tmp && mount -t tmpfs none /dev/shm || exit 3
folder=/tmp/left-behind-$$
mkdir "$folder"
mounts=$(cat /proc/self/mounts)
# Other checks of the host's kernel may run at the same time, unless this is one.
loops() { [ "$kernel" = host ] && for device in /sys/block/loop*; do echo "$device"; done; }
loops_before=$(loops)

# Processes that live, and were started from the folder or belong to the host's kernel: no others are seen here then.
processes() {
  for process in /proc/[0-9]*; do
    case $(cat "$process/comm" 2>/dev/null) in
      sisyfs-agent | sisyfs-disk) [ "$kernel" = host ] || continue ;;
      *) [ "$(readlink "$process/cwd" 2>/dev/null)" = "$folder" ] || continue ;;
    esac
    grep -q '^State:.*Z' "$process/status" 2>/dev/null && continue
    printf '%s %s\n' "${process#/proc/}" "$(tr '\0' ' ' <"$process/cmdline" | cut -c1-80)"
  done
}

signals=$(printf %s "$3" | tr ',' '\n' | grep -c .)
run=0
while [ "$run" -lt "$2" ]; do
  run=$((run + 1))
  # With job control off, a shell lets its background jobs ignore SIGINT.
  (cd "$folder" && exec env --default-signal=INT "$program" check ext4 $on --depth 2 --progress off) >/dev/null 2>&1 &
  started=$!
  # Another moment each time: mkfs, boot, the first mount, the search.
  centiseconds=$((run * 137 % (seconds * 100)))
  sleep "$((centiseconds / 100)).$(printf %02d $((centiseconds % 100)))"
  signal=$(printf %s "$3" | cut -d, -f$(((run - 1) % signals + 1)))
  kill -s "$signal" "$started" 2>/dev/null
  wait "$started" 2>/dev/null

  # What dies with its parent needs a moment.
  for moment in 1 2 3 4 5 6 7 8 9; do
    left=$(processes)
    loops_now=$(loops)
    [ -z "$left" ] && [ "$loops_now" = "$loops_before" ] && break
    sleep "0.$moment"
  done
  files=$(find /tmp /dev/shm -mindepth 1 ! -path "$folder")
  if [ -n "$left$files" ] || [ "$mounts" != "$(cat /proc/self/mounts)" ] || [ "$loops_now" != "$loops_before" ]; then
    printf 'left after run %s, SIG%s after %s ms:\n%s\n%s\n%s\n' "$run" "$signal" "${centiseconds}0" "$left" "$files" \
      "$loops_now"
    exit 1
  fi
done
echo "nothing was left by $2 runs that were ended with SIG$(printf %s "$3" | sed 's/,/, SIG/g')"
