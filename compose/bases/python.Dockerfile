# Stands in for python: python, python3 and pip, which may install outside a virtual environment as it may there.
FROM mcp-parity/base-debian
RUN apt-get update \
  && apt-get install --yes --no-install-recommends python3 python3-pip python3-venv python-is-python3 \
  && rm -rf /var/lib/apt/lists/* /usr/lib/python3.*/EXTERNALLY-MANAGED
# pip and uv bring their own lists of authorities.
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
