# Runs the built test programs, as many at a time as there are CPUs, for most have a test that is longer than the others and has one CPU
# only. Sourced by scripts/test and scripts/quick, after lib.sh; OUTPUT is a folder of theirs, and OUTPUT/failed has the names of what failed.

# Those that take longest begin first. What measures its own time is run when all others have ended.
LONGEST=(cases shared random examples)
ALONE=(growth)

# What runs at the moment, by process; and what could not be run.
BESIDE=()
FAILED=()

# list_programs FILE: writes the built test programs, a line each: the package's folder, where they run, and their path.
list_programs() {
    cargo test --workspace --lib --bins --tests --no-run --message-format json-render-diagnostics |
        jq -r 'select(.reason == "compiler-artifact" and .profile.test and .executable)
            | "\(.manifest_path | rtrimstr("/Cargo.toml"))\t\(.executable)"' >"$1.unordered"
    in_order "$1.unordered" >"$1"
    grep -E "/($(any_of "${ALONE[@]}"))-[0-9a-f]*$" "$1.unordered" >"$1.alone"
    [ -s "$1" ] || die "there are no test programs"
}

# in_order FILE: its lines, with those of LONGEST first and without those of ALONE.
in_order() {
    local name
    for name in "${LONGEST[@]}"; do
        grep -E "/$name-[0-9a-f]*$" "$1" || true
    done
    grep -vE "/($(any_of "${LONGEST[@]}" "${ALONE[@]}"))-[0-9a-f]*$" "$1" || true
}

# any_of NAME…: an expression for one of them.
any_of() {
    local IFS='|'
    printf '%s' "$*"
}

# beside COMMAND…: runs it beside others, as many at a time as there are CPUs. It says itself what comes of it.
beside() {
    while [ "${#BESIDE[@]}" -ge "$(nproc)" ]; do ended; done
    "$@" &
    BESIDE[$!]=$!
}

# ended: waits for one of them.
ended() {
    local status=0
    wait -n -p ENDED "${BESIDE[@]}" || status=$?
    unset "BESIDE[$ENDED]"
    [ "$status" = 0 ] || FAILED+=("what runs a test could not say what came of it: $status")
}

all_ended() {
    while [ "${#BESIDE[@]}" -gt 0 ]; do ended; done
}

# run_program FOLDER PROGRAM [ARGUMENT…]: runs a test program, and says what came of it; in full if it failed.
run_program() {
    local name=${2##*/} status=0 output start=$SECONDS
    name="${1##*/}/${name%-*}"
    output=$(mktemp "$OUTPUT/program.XXXXXX")
    (cd "$1" && shift && "$@") >"$output" 2>&1 </dev/null || status=$?
    if [ "$status" = 0 ]; then
        printf '%-36s %4d s  %s\n' "$name" $((SECONDS - start)) "$(grep '^test result: ' "$output")"
    else
        # In one piece, though others write, too.
        flock "$OUTPUT" sh -c 'echo "FAILED ($1): $2" && cat "$3"' sh "$status" "$name" "$output"
        printf '%s\n' "$name" >>"$OUTPUT/failed"
    fi
}

# run_programs LIST [ARGUMENT…]: runs the programs of a list.
run_programs() {
    local list=$1 folder program
    shift
    while IFS=$'\t' read -r folder program; do
        beside run_program "$folder" "$program" "$@"
    done <"$list"
    all_ended
    while IFS=$'\t' read -r folder program; do
        run_program "$folder" "$program" "$@"
    done <"$list.alone"
}
