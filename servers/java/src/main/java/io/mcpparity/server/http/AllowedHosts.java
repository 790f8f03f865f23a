package io.mcpparity.server.http;

import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;

/**
 * The names under which this server may be addressed.
 *
 * @param names lower-case host names, IPv6 addresses in brackets
 */
record AllowedHosts(Set<String> names) {

    /**
     * The loopback names, and the address listened on.
     *
     * @param host the address listened on; one that stands for all addresses adds nothing
     */
    static AllowedHosts of(String host) {
        Set<String> names = new HashSet<>(Set.of("localhost", "127.0.0.1", "[::1]"));
        try {
            if (!InetAddress.getByName(host).isAnyLocalAddress()) {
                String name = host.toLowerCase(Locale.ROOT);
                names.add(name.contains(":") && !name.startsWith("[") ? "[" + name + "]" : name);
            }
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(
                    "the address to listen on cannot be resolved: " + host, e);
        }
        return new AllowedHosts(Set.copyOf(names));
    }

    /**
     * Whether a {@code Host} header is allowed.
     *
     * @param header host name and perhaps a port; {@code null} if there is none
     */
    boolean allowsHost(String header) {
        if (header == null) {
            return false;
        }
        int portColon = header.indexOf(':', header.indexOf(']') + 1);
        String name = portColon < 0 ? header : header.substring(0, portColon);
        return names.contains(name.toLowerCase(Locale.ROOT));
    }

    /**
     * Whether an {@code Origin} header is allowed.
     *
     * @param header a serialised origin, or the word {@code null}
     */
    boolean allowsOrigin(String header) {
        try {
            String name = new URI(header).getHost();
            return name != null && names.contains(name.toLowerCase(Locale.ROOT));
        } catch (URISyntaxException e) {
            return false;
        }
    }
}
