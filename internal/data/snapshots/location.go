package snapshots

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/spicepod"
)

// location is where the snapshots of a Spicepod are, and how they are kept.
type location struct {
	id   string // equal for equal declarations
	area objectstore.Area
	keep int
	on   spicepod.SnapshotFailure
}

// storeNames are the params of a bucket.
var storeNames = objectstore.Names{
	Endpoint: "s3_endpoint", Region: "s3_region", Auth: "s3_auth", Key: "s3_key", Secret: "s3_secret", Token: "s3_session_token", AllowHTTP: "allow_http",
	IAM: true, Written: true, Permissions: "permit s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject to the key",
}

// locate returns the location that a Spicepod declares; nil if it declares none or has it
// disabled. Errors are faults below `snapshots`.
func locate(pod *spicepod.Pod) (*location, error) {
	decl := pod.Snapshots
	if decl == nil || !decl.Enabled {
		return nil, nil
	}
	for _, u := range pod.Unset("snapshots") {
		return nil, fault.At(strings.TrimPrefix(u.Path, "snapshots."), u.Offset, u.Hint, "%s", u.Message)
	}
	l := &location{id: spicepod.Fingerprint([]any{decl, pod.Dir}), keep: decl.Keep, on: decl.BootstrapOnFailureBehavior}
	text := strings.TrimSpace(decl.Location.Reveal())
	scheme, rest, remote := strings.Cut(text, "://")
	switch {
	case text == "":
		return nil, fault.New("", "add location: with a folder or s3://bucket/folder/, or set enabled: false", "the section has no location")
	case remote && strings.EqualFold(scheme, "s3"):
		return l, l.useBucket(rest, decl)
	case remote && !strings.EqualFold(scheme, "file"):
		return nil, fault.New("location", "write s3://bucket/folder/, or the path of a folder", "snapshots cannot be stored at %q", decl.Location.Raw)
	case remote:
		text = rest
	}
	return l, l.useFolder(text, pod, decl)
}

func (l *location) useBucket(text string, decl *spicepod.Snapshots) error {
	bucket, key, _ := strings.Cut(text, "/")
	key = strings.TrimSuffix(key, "/")
	switch {
	case !objectstore.ValidBucket(bucket):
		return fault.New("location", "write s3://bucket/folder/", "%q does not name a bucket", decl.Location.Raw)
	case !objectstore.CleanKey(key) || strings.Contains("/"+key, "//") || strings.ContainsAny(key, "\\?#"):
		return fault.New("location", "write the folder itself", "the folder must not have a part that is empty, . or .., nor \\, ? or #")
	}
	known := spicepod.ParamNames(storeNames.Params())
	for _, err := range decl.Params.Unknown("snapshots in a bucket", known) {
		return err
	}
	params := decl.Params
	if !params.Has(storeNames.Auth) {
		auth := "iam_role"
		if params.Has(storeNames.Key) || params.Has(storeNames.Secret) {
			auth = "key"
		}
		params = params.With(spicepod.Params{storeNames.Auth: spicepod.Text{Raw: auth}})
	}
	store, err := storeNames.Compile(params)
	if err != nil {
		return err
	}
	if key != "" {
		key += "/"
	}
	l.area = objectstore.NewArea(store, bucket, key)
	return nil
}

func (l *location) useFolder(path string, pod *spicepod.Pod, decl *spicepod.Snapshots) error {
	if path == "" {
		return fault.New("location", "write s3://bucket/folder/, or the path of a folder", "the location is empty")
	}
	for _, err := range decl.Params.Unknown("snapshots in a folder", nil) {
		err.Hint = "leave it out: params are those of s3://"
		return err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(pod.Dir, path)
	}
	l.area = objectstore.NewArea(objectstore.NewFolder(filepath.Clean(path), os.OpenRoot), "", "")
	return nil
}

// folderName returns the name of a folder for a name: the name itself if that is plain,
// else its plain characters and a hash, which has no equal.
func folderName(name string) string {
	folded := strings.ToLower(name)
	if plain.MatchString(folded) && len(folded) <= maxFolderName {
		return folded
	}
	readable := strings.Map(func(c rune) rune {
		if c < 0x80 && plain.MatchString(string(c)) {
			return c
		}
		return '-'
	}, folded)
	return readable[:min(len(readable), 40)] + "-" + spicepod.Fingerprint(folded)[:16]
}

// withoutUser removes the user and the password from a URL.
func withoutUser(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + rest[strings.LastIndexByte(host, '@')+1:]
}
