package backend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// build returns the image of the service's present sources, after making it where needed; or the one that was built elsewhere.
func (d *dockerBackend) build(ctx context.Context, s Service) (string, error) {
	if s.Docker != nil && s.Docker.Image != "" {
		return d.builds.get("image "+s.Docker.Image, func() (string, error) { return d.present(ctx, s.Docker.Image) })
	}
	return d.builds.get(s.Dir, func() (string, error) {
		image, err := d.buildOnce(ctx, s)
		if err != nil {
			return "", fmt.Errorf("build %s: %w", buildName(s), err)
		}
		return image, nil
	})
}

func (d *dockerBackend) buildOnce(ctx context.Context, s Service) (string, error) {
	if s.Docker == nil {
		return "", errors.New("its subject.yaml has no docker section; add one, or use the process backend")
	}
	folder := filepath.Join(s.Dir, s.Docker.Context)
	tag, err := d.tag(ctx, s, folder)
	if err != nil {
		return "", err
	}
	repo := "mcp-parity/" + buildName(s)
	image := repo + ":" + tag
	if _, err := d.provider.Client().ImageInspect(ctx, image); err == nil {
		return image, nil
	} else if !errdefs.IsNotFound(err) {
		return "", err
	}
	log, err := d.logs.create(buildName(s) + "-build")
	if err != nil {
		return "", err
	}
	defer log.Close()
	_, err = d.provider.BuildImage(ctx, &testcontainers.ContainerRequest{FromDockerfile: testcontainers.FromDockerfile{
		Context: folder, Dockerfile: filepath.ToSlash(s.Docker.Dockerfile), Repo: repo, Tag: tag,
		BuildArgs: d.buildArgs, BuildLogWriter: log, KeepImage: true,
	}})
	if err != nil && d.buildArgs == nil {
		err = fmt.Errorf("%w; on a machine that cannot pull images, run compose/bases/build.sh first, or use the process backend", err)
	}
	if err != nil {
		return "", d.logs.failed(log.Name(), err)
	}
	return image, nil
}

// present returns the ID of an image that the engine must have. The ID stays the same when a tag moves on. Nothing is pulled: whose credentials
// and which platform is for the user to say.
func (d *dockerBackend) present(ctx context.Context, image string) (string, error) {
	found, err := d.provider.Client().ImageInspect(ctx, image)
	if errdefs.IsNotFound(err) {
		return "", fmt.Errorf("the engine has no image %s; get it first: docker pull %s", image, image)
	}
	if err != nil {
		return "", fmt.Errorf("look for the image %s: %w", image, err)
	}
	return found.ID, nil
}

// tag is the same as long as the image would be.
func (d *dockerBackend) tag(ctx context.Context, s Service, folder string) (string, error) {
	k := newKey()
	paths := []string{filepath.Join(folder, s.Docker.Dockerfile)}
	if s.Process != nil {
		for _, source := range s.Process.Sources {
			paths = append(paths, filepath.Join(s.Dir, source))
		}
	} else {
		paths = append(paths, folder)
	}
	for _, path := range paths {
		if err := k.addFiles(path); err != nil {
			return "", fmt.Errorf("read the sources: %w", err)
		}
	}
	for _, arg := range slices.Sorted(maps.Keys(d.buildArgs)) {
		image, err := d.provider.Client().ImageInspect(ctx, *d.buildArgs[arg])
		if err != nil {
			return "", err
		}
		k.add(arg, image.ID)
	}
	return k.String(), nil
}

// standIns is the file that lists local images by the Dockerfile argument whose default they replace.
const standIns = "compose/bases/bases.env"

func readStandIns(root string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(root, standIns))
	if err != nil {
		return nil, fmt.Errorf("read the list of base images: %w", err)
	}
	images := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		arg, image, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("%s: %q is not of the form ARGUMENT=image", standIns, line)
		}
		images[arg] = image
	}
	return images, nil
}

// absent lists the images that the engine does not have.
func absent(ctx context.Context, engine client.APIClient, images map[string]string) ([]string, error) {
	var missing []string
	for _, image := range images {
		if _, err := engine.ImageInspect(ctx, image); errdefs.IsNotFound(err) {
			missing = append(missing, image)
		} else if err != nil {
			return nil, err
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// switchOffReaper tells testcontainers not to start its cleaning container where stand-ins have been made: that is done on machines that
// cannot pull its image. The library reads this setting once, when it first connects, so the engine is asked without it. Who has
// said something about it is obeyed.
func switchOffReaper(ctx context.Context, images map[string]string) error {
	const variable = "TESTCONTAINERS_RYUK_DISABLED"
	if _, said := os.LookupEnv(variable); said {
		return nil
	}
	engine, err := client.New(client.FromEnv)
	if err != nil {
		return nil // testcontainers may find an engine elsewhere, or tell why there is none
	}
	defer engine.Close()
	if missing, err := absent(ctx, engine, images); err != nil || len(missing) > 0 {
		return nil
	}
	return os.Setenv(variable, "true")
}
