# Two stages: one builds, the other holds the program and what it needs at run time.
#
#     docker build -t askgate .
#
# The README says how to run it. The demo is left out: it opens a page on 127.0.0.1, which nobody outside a container sees.

FROM rust:1.95-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends libssl-dev pkg-config \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --release --locked -p gateway --bin askgate --no-default-features

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates libssl3 \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 askgate \
 && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin askgate \
 && install -d -o 10001 -g 10001 -m 0700 /data
COPY --from=build /src/target/release/askgate /usr/local/bin/askgate

# Inside a container 127.0.0.1 is the container alone. The environment wins over the file, so `server.listen` there does nothing.
ENV ASKGATE_SERVER__LISTEN=0.0.0.0:8787
EXPOSE 8787

# A number, so that an orchestrator can see that it is not root.
USER 10001:10001
WORKDIR /data
VOLUME /data

# The first SIGTERM finishes what is claimed, for at most `server.shutdown_grace`; give the container a little longer than that.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=40s --retries=3 \
    CMD ["askgate", "healthcheck", "-c", "/data/askgate.toml"]
ENTRYPOINT ["askgate"]
CMD ["serve", "-c", "/data/askgate.toml"]
