# Stands in for maven:3-eclipse-temurin-25, with the same JAVA_HOME.
FROM mcp-parity/base-debian
RUN apt-get update \
  && apt-get install --yes --no-install-recommends openjdk-25-jdk-headless maven \
  && rm -rf /var/lib/apt/lists/* \
  && mkdir /opt/java \
  && ln -s /usr/lib/jvm/java-25-openjdk-* /opt/java/openjdk
ENV JAVA_HOME=/opt/java/openjdk
