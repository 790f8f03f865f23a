# Stands in for eclipse-temurin:25-jre, with the same JAVA_HOME.
FROM mcp-parity/base-debian
RUN apt-get update \
  && apt-get install --yes --no-install-recommends openjdk-25-jre-headless \
  && rm -rf /var/lib/apt/lists/* \
  && mkdir /opt/java \
  && ln -s /usr/lib/jvm/java-25-openjdk-* /opt/java/openjdk
ENV JAVA_HOME=/opt/java/openjdk
