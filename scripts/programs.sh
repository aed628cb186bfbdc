# Runs the built test programs, as many at a time as there are CPUs, for most have a test that is longer than the others and has one CPU
# only. Sourced by scripts/test and scripts/quick, after lib.sh.

# Those that take longest begin first.
LONGEST=(cases shared random examples)

# list_programs FILE: writes the built test programs, a line each: the package's folder, where they run, and their path.
list_programs() {
    cargo test --workspace --lib --bins --tests --no-run --message-format json-render-diagnostics |
        jq -r 'select(.reason == "compiler-artifact" and .profile.test and .executable)
            | "\(.manifest_path | rtrimstr("/Cargo.toml"))\t\(.executable)"' >"$1.unordered"
    in_order "$1.unordered" >"$1"
    [ -s "$1" ] || die "there are no test programs"
}

# in_order FILE: its lines, with those of LONGEST first.
in_order() {
    local name others
    for name in "${LONGEST[@]}"; do
        grep -E "/$name-[0-9a-f]*$" "$1" || true
    done
    others=$(IFS='|' && printf '%s' "${LONGEST[*]}")
    grep -vE "/($others)-[0-9a-f]*$" "$1" || true
}

# run_program OUTPUT FOLDER PROGRAM [ARGUMENT…]: runs a test program, and says what came of it; in full if it failed.
run_program() {
    local folder=$1 name=${3##*/} status=0 output start=$SECONDS
    name="${2##*/}/${name%-*}"
    output=$(mktemp "$folder/program.XXXXXX")
    (cd "$2" && shift 2 && "$@") >"$output" 2>&1 </dev/null || status=$?
    if [ "$status" = 0 ]; then
        printf '%-36s %4d s  %s\n' "$name" $((SECONDS - start)) "$(grep '^test result: ' "$output")"
    else
        # In one piece, though others write, too.
        flock "$folder" sh -c 'echo "FAILED ($1): $2" && cat "$3"' sh "$status" "$name" "$output"
        printf '%s\n' "$name" >>"$folder/failed"
    fi
}

# run_programs OUTPUT LIST [ARGUMENT…]: runs the programs of a list. Names of those that failed are in OUTPUT/failed then.
run_programs() {
    local output=$1 list=$2 folder program
    shift 2
    while IFS=$'\t' read -r folder program; do
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
        run_program "$output" "$folder" "$program" "$@" &
    done <"$list"
    wait
}
