#!/bin/sh -eu
# The recorded workload: a new store, four records, a compaction, and one record more. The store runs sisyfs-ack itself,
# by its hook, as soon as it holds a record for durable. Each command is a new start of the store.
here=$(dirname "$0")
export LEDGERKV_HOOK=sisyfs-ack

"$here/ledgerkv" put color red
"$here/ledgerkv" put shape round
"$here/ledgerkv" put text "$(printf '%05000d' 7)"  # longer than one piece of 4 KiB
"$here/ledgerkv" put color blue                    # replaces record 1
"$here/ledgerkv" compact
"$here/ledgerkv" put size large
