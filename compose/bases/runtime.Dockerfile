# Stands in for gcr.io/distroless/static-debian13:nonroot, with the same user.
FROM mcp-parity/base-debian
RUN groupadd --gid 65532 nonroot && useradd --uid 65532 --gid 65532 --create-home nonroot
USER 65532
WORKDIR /home/nonroot
