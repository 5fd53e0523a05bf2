# Sourced by ./demo, ./test and .ci/run: checks that a Rust toolchain, a C compiler and make are
# there, says what is missing and, as root on Debian, installs it.

say() { printf '%s\n' "$*" >&2; }

# version_at_least HAVE WANT
version_at_least() {
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]
}

# The version that Cargo.toml asks for.
wanted_rust() { sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml; }

# The version in force, or nothing.
found_rust() {
    command -v cargo >/dev/null || return 0
    rustc --version 2>/dev/null | awk '{ print $2 }' || true
}

rust_is_new_enough() {
    local found
    found=$(found_rust)
    [ -n "$found" ] && version_at_least "$found" "$(wanted_rust)"
}

on_debian_as_root() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# apt_install PACKAGE…
apt_install() {
    say "installing $*"
    apt_update && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# apt_unpack FOLDER PACKAGE…
# Programs for tests, without the services that their packages would start.
apt_unpack() {
    local folder=$1
    shift
    say "unpacking $*"
    mkdir -p "$folder" && apt_update && (
        cd "$folder"
        apt-get download -qq "$@" >/dev/null 2>&1 && for package in *.deb; do
            dpkg -x "$package" . && rm "$package"
        done
    )
}

apt_updated=
apt_update() {
    if [ -z "$apt_updated" ]; then
        apt-get update -qq || return 1
        apt_updated=yes
    fi
}

# The version that apt would install, without Debian's own parts, or nothing.
apt_candidate() {
    apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9][0-9.]*\).*/\1/p'
}

rustup_install() {
    say "installing Rust $1 with rustup"
    rustup toolchain install "$1" --profile minimal --component clippy --component rustfmt >&2
    export RUSTUP_TOOLCHAIN="$1"
}

install_rust() {
    local wanted=$1 candidate
    if command -v rustup >/dev/null; then
        rustup_install "$wanted"
        return
    fi
    on_debian_as_root && apt_update || return 1
    candidate=$(apt_candidate rustc)
    if [ -n "$candidate" ] && version_at_least "$candidate" "$wanted"; then
        apt_install rustc cargo
    elif [ -n "$(apt_candidate rustup)" ]; then
        apt_install rustup && rustup_install "$wanted"
    else
        return 1
    fi
}

need_rust() {
    local wanted found
    wanted=$(wanted_rust)
    if [ -d "$HOME/.cargo/bin" ]; then PATH="$HOME/.cargo/bin:$PATH"; fi
    if rust_is_new_enough; then return; fi
    found=$(found_rust)
    say "Rust $wanted or newer is needed; ${found:-none} is installed."
    if install_rust "$wanted" && rust_is_new_enough; then return; fi
    say "Install it, then run this again:"
    say "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal"
    exit 1
}

need_c_compiler() {
    if command -v cc >/dev/null && command -v make >/dev/null; then return; fi
    say "A C compiler and make are needed: SQLite and jemalloc are built from their source, and Rust links with cc."
    if on_debian_as_root && apt_install gcc libc6-dev make; then return; fi
    say "Install them, then run this again (Debian: sudo apt-get install gcc libc6-dev make)."
    exit 1
}

need_toolchain() {
    need_c_compiler
    need_rust
}

# Builds the pages that the program includes, if npm is here; a program without them says so at /play.
build_pages() {
    if ! command -v npm >/dev/null; then
        say "no npm (Debian: nodejs npm): the course player is not built"
        return 0
    fi
    local installed=web/node_modules/.homeroom-lock.json
    if ! cmp -s web/package-lock.json "$installed"; then
        say "installing what the pages need into web/node_modules"
        # A registry that has answered too late once may answer the next time.
        local left=3
        until npm ci --prefix web --ignore-scripts --no-audit --no-fund --silent >&2; do
            left=$((left - 1))
            if [ "$left" = 0 ]; then
                say "npm cannot install from the registry: the course player is not built"
                return 0
            fi
            sleep 5
        done
        cp web/package-lock.json "$installed"
    fi
    npm run --prefix web --silent build >&2 ||
        say "the course player could not be built; Node.js 20 is needed, here is $(node --version)"
}

# Builds xtask. `--workspace` gives its dependencies the features that they have for the tests, so
# that these do not need them once more.
build_xtask() { cargo build --workspace --locked --quiet --bin xtask; }

xtask() { "${CARGO_TARGET_DIR:-target}/debug/xtask" "$@"; }
