# Stands in for gcr.io/distroless/static-debian13:nonroot, with the same user.
FROM mcp-parity/base-debian
RUN useradd --uid 65532 --create-home --user-group nonroot
USER 65532
WORKDIR /home/nonroot
