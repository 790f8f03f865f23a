package io.mcpparity.server;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Starts the server with the settings that the environment gives. */
@SpringBootApplication
public class ServerApplication {

    /** Exit code for an environment variable with a wrong value. */
    private static final int EXIT_USAGE = 2;

    /**
     * Runs the server until SIGTERM, or on stdio until standard input ends.
     *
     * @param args passed on to Spring Boot
     */
    public static void main(String[] args) {
        Settings settings;
        try {
            settings = Settings.from(System.getenv());
        } catch (Settings.WrongValueException e) {
            System.err.println(e.getMessage());
            System.exit(EXIT_USAGE);
            return;
        }
        application(settings).run(args);
        // A JVM that drains on SIGTERM still ends with 143, as if it had failed. This runs after
        // Spring has closed everything, and is registered only now, so that a failed start keeps
        // its own exit code.
        SpringApplication.getShutdownHandlers().add(() -> Runtime.getRuntime().halt(0));
    }

    /** The application with these settings, ready to run. */
    static SpringApplication application(Settings settings) {
        SpringApplication application = new SpringApplication(ServerApplication.class);
        application.setDefaultProperties(settings.springProperties());
        if (settings.transport() == Settings.Transport.STDIO) {
            application.setWebApplicationType(WebApplicationType.NONE);
        }
        application.addInitializers(
                context -> context.getBeanFactory().registerSingleton("settings", settings));
        return application;
    }
}
