package snapshots

import (
	"errors"
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

// storeNames are the params of buckets, by scheme.
var storeNames = map[string]objectstore.Names{
	"s3": {
		Endpoint: "s3_endpoint", Region: "s3_region", Auth: "s3_auth", Key: "s3_key", Secret: "s3_secret",
		Token: "s3_session_token", AllowHTTP: "allow_http",
		IAM: true, Written: true,
		Permissions: "permit s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject to the key",
	},
	"gs": {
		Default: "https://storage.googleapis.com", Endpoint: "gcs_endpoint", Auth: "gcs_auth", Key: "gcs_key",
		Secret: "gcs_secret", AllowHTTP: "allow_http",
		Written: true, Permissions: "permit storage.objects.list, get, create and delete to the account of the key",
	},
}

// forms are the forms of a location, for hints.
const forms = "write s3://bucket/folder/, gs://bucket/folder/, " +
	"abfs://container@account.dfs.core.windows.net/folder/, " +
	"or the path of a folder"

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
	scheme = strings.ToLower(scheme)
	names, isBucket := storeNames[scheme]
	switch {
	case text == "":
		return nil, fault.New("", "add location: with a folder or s3://bucket/folder/, or set enabled: false",
			"the section has no location")
	case remote && isBucket:
		return l, l.useBucket(scheme, rest, names, decl)
	case remote && (scheme == "abfs" || scheme == "abfss"):
		return l, l.useAzure(text, decl)
	case remote && scheme != "file":
		return nil, fault.New("location", forms, "snapshots cannot be stored at %q", decl.Location.String())
	case remote:
		text = rest
	}
	return l, l.useFolder(text, pod, decl)
}

// prefixOf returns the prefix of the keys of a folder in a store.
func prefixOf(folder string) (string, error) {
	key := strings.TrimSuffix(folder, "/")
	if !objectstore.CleanKey(key) || strings.Contains("/"+key, "//") || strings.ContainsAny(key, "\\?#") {
		return "", fault.New("location", "write the folder itself",
			"the folder must not have a part that is empty, . or .., nor \\, ? or #")
	}
	if key != "" {
		key += "/"
	}
	return key, nil
}

func (l *location) useBucket(scheme, text string, names objectstore.Names, decl *spicepod.Snapshots) error {
	bucket, folder, _ := strings.Cut(text, "/")
	if !objectstore.ValidBucket(bucket) {
		return fault.New("location", "write "+scheme+"://bucket/folder/", "%q does not name a bucket", decl.Location.String())
	}
	prefix, err := prefixOf(folder)
	if err != nil {
		return err
	}
	for _, err := range decl.Params.Unknown("snapshots in a bucket", spicepod.ParamNames(names.Params())) {
		return err
	}
	params := decl.Params
	if names.IAM && !params.Has(names.Auth) {
		auth := "iam_role"
		if params.Has(names.Key) || params.Has(names.Secret) {
			auth = "key"
		}
		params = params.With(spicepod.Params{names.Auth: spicepod.Text{Raw: auth}})
	}
	store, err := names.Compile(params)
	if err == nil {
		l.area = objectstore.NewArea(store, bucket, prefix)
	}
	return err
}

func (l *location) useAzure(text string, decl *spicepod.Snapshots) error {
	for _, err := range decl.Params.Unknown("snapshots in a container", spicepod.ParamNames(objectstore.AzureParams())) {
		return err
	}
	store, bucket, folder, err := objectstore.CompileAzure(text, decl.Params)
	if err != nil {
		var f *fault.Fault
		if errors.As(err, &f) && f.Path == "from" {
			own := *f
			own.Path, err = "location", &own
		}
		return err
	}
	prefix, err := prefixOf(folder)
	if err == nil {
		l.area = objectstore.NewArea(store, bucket, prefix)
	}
	return err
}

func (l *location) useFolder(path string, pod *spicepod.Pod, decl *spicepod.Snapshots) error {
	if path == "" {
		return fault.New("location", forms, "the location is empty")
	}
	for _, err := range decl.Params.Unknown("snapshots in a folder", nil) {
		err.Hint = "leave it out: params are those of s3://, gs:// and abfs://"
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
