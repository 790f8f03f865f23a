# Stands in for node; the context has bin/node and lib/node_modules/npm.
FROM mcp-parity/base-debian
COPY . /usr/local
RUN apt-get update \
  && apt-get install --yes --no-install-recommends libatomic1 libstdc++6 \
  && rm -rf /var/lib/apt/lists/* \
  && ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
  && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \
  && chmod +x /usr/local/lib/node_modules/npm/bin/*-cli.js \
  && useradd --uid 1000 --create-home --user-group node
# Node.js brings its own list of authorities.
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
