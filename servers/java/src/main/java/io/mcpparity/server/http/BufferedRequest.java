package io.mcpparity.server.http;

import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Enumeration;
import java.util.LinkedHashSet;
import java.util.Set;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;

/**
 * A request whose body has been read and whose headers have been checked. The SDK sees {@code
 * Accept} and {@code Content-Type} in the one spelling that it understands: it takes neither
 * wildcards nor a missing header, and would decode the body by a charset parameter although JSON is
 * always UTF-8.
 */
class BufferedRequest extends HttpServletRequestWrapper {

    private static final String ACCEPT_BOTH =
            MediaType.APPLICATION_JSON_VALUE + ", " + MediaType.TEXT_EVENT_STREAM_VALUE;

    private final byte[] body;

    BufferedRequest(HttpServletRequest request, byte[] body) {
        super(request);
        this.body = body;
    }

    @Override
    public String getHeader(String name) {
        if (HttpHeaders.ACCEPT.equalsIgnoreCase(name)) {
            return ACCEPT_BOTH;
        }
        return HttpHeaders.CONTENT_TYPE.equalsIgnoreCase(name)
                ? getContentType()
                : super.getHeader(name);
    }

    @Override
    public Enumeration<String> getHeaders(String name) {
        boolean replaced =
                HttpHeaders.ACCEPT.equalsIgnoreCase(name)
                        || HttpHeaders.CONTENT_TYPE.equalsIgnoreCase(name);
        return replaced ? Collections.enumeration(Set.of(getHeader(name))) : super.getHeaders(name);
    }

    @Override
    public Enumeration<String> getHeaderNames() {
        Set<String> names = new LinkedHashSet<>(Collections.list(super.getHeaderNames()));
        if (names.stream().noneMatch(HttpHeaders.ACCEPT::equalsIgnoreCase)) {
            names.add(HttpHeaders.ACCEPT);
        }
        return Collections.enumeration(names);
    }

    @Override
    public String getContentType() {
        return MediaType.APPLICATION_JSON_VALUE;
    }

    @Override
    public String getCharacterEncoding() {
        return StandardCharsets.UTF_8.name();
    }

    @Override
    public int getContentLength() {
        return body.length;
    }

    @Override
    public long getContentLengthLong() {
        return body.length;
    }

    @Override
    public ServletInputStream getInputStream() {
        return new BodyStream(new ByteArrayInputStream(body));
    }

    @Override
    public BufferedReader getReader() {
        return new BufferedReader(new InputStreamReader(getInputStream(), StandardCharsets.UTF_8));
    }

    private static final class BodyStream extends ServletInputStream {
        private final ByteArrayInputStream bytes;

        BodyStream(ByteArrayInputStream bytes) {
            this.bytes = bytes;
        }

        @Override
        public int read() {
            return bytes.read();
        }

        @Override
        public int read(byte[] target, int offset, int length) {
            return bytes.read(target, offset, length);
        }

        @Override
        public boolean isFinished() {
            return bytes.available() == 0;
        }

        @Override
        public boolean isReady() {
            return true;
        }

        @Override
        public void setReadListener(ReadListener listener) {
            throw new IllegalStateException("the body has been read: there is nothing to wait for");
        }
    }
}
