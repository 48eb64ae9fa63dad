# What building and testing need, and how it is got. Sourced by ./demo and ./test.

say() { printf '%s\n' "$*" >&2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null 2>&1; then sudo "$@"; else return 1; fi
}

# apt PACKAGE... : installs Debian packages, or says in one sentence how to get them.
apt() {
    if command -v apt-get >/dev/null 2>&1; then
        say "installing $* with apt-get"
        if as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null; then
            return 0
        fi
    fi
    say "$* is missing: please install it with your system's package manager and run this again."
    return 1
}

need_build() {
    [ -d "$HOME/.cargo/bin" ] && PATH="$HOME/.cargo/bin:$PATH" && export PATH
    if ! command -v cargo >/dev/null 2>&1; then
        say "Rust is missing: please install Rust 1.95 or newer from https://rustup.rs and run this again."
        exit 1
    fi
    command -v cc >/dev/null 2>&1 || apt gcc libc6-dev || exit 1
    command -v pkg-config >/dev/null 2>&1 || apt pkg-config || exit 1
    pkg-config --exists openssl || apt libssl-dev || exit 1
}

need_browser() {
    if command -v chromedriver >/dev/null 2>&1 && command -v chromium >/dev/null 2>&1; then return 0; fi
    apt chromium chromium-driver
}

need_strace() {
    if command -v strace >/dev/null 2>&1; then return 0; fi
    apt strace
}
