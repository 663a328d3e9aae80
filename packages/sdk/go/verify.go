package posthorn

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Tolerance is how far a timestamp may be off, in either direction.
const Tolerance = 5 * time.Minute

// VerificationError says that the signature does not prove that the request comes from Posthorn: answer 401 and ignore the request.
// Reason is missing_header, malformed_header, timestamp_too_old, timestamp_too_new or signature_mismatch.
type VerificationError struct{ Reason, Detail string }

func (err *VerificationError) Error() string { return err.Reason + ": " + err.Detail }

// Verified is what a signature proves. ID is the same for every automatic retry: deduplicate by it.
type Verified struct {
	ID string
	// When it was signed, in Unix seconds.
	Timestamp int64
}

// Verify checks a delivery by the raw body: any secret against any entry, five minutes on either side, one spelling of a digest. The
// secrets are the whsec_ secrets and whpk_ public keys that may have signed: after a rotation the new one and the old one.
// A refused request is a *VerificationError.
func Verify(secrets []string, header http.Header, body []byte) (*Verified, error) {
	return VerifyAt(secrets, header, body, time.Now())
}

var wholeSeconds = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})$`)

// VerifyAt is Verify by another clock.
func VerifyAt(secrets []string, header http.Header, body []byte, now time.Time) (*Verified, error) {
	if len(secrets) == 0 {
		return nil, errors.New("posthorn: verifying needs at least one secret")
	}
	keys := make([]func(entry string, signed []byte) bool, len(secrets))
	for index, secret := range secrets {
		key, err := keyOf(secret)
		if err != nil {
			return nil, err
		}
		keys[index] = key
	}
	var values [3]string
	for index, name := range [...]string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		value, err := valueOf(header, name)
		if err != nil {
			return nil, err
		}
		values[index] = value
	}
	id, timestamp, signatures := values[0], values[1], values[2]
	if strings.Contains(id, ".") {
		return nil, &VerificationError{"malformed_header", "webhook-id contains a dot"}
	}
	if !wholeSeconds.MatchString(timestamp) {
		return nil, &VerificationError{"malformed_header", "webhook-timestamp is not a number of Unix seconds"}
	}
	seconds, _ := strconv.ParseInt(timestamp, 10, 64)
	ahead := seconds - now.Unix()
	if ahead > int64(Tolerance.Seconds()) {
		return nil, &VerificationError{"timestamp_too_new", "the timestamp lies in the future: check both clocks"}
	}
	if ahead < -int64(Tolerance.Seconds()) {
		return nil, &VerificationError{"timestamp_too_old", "the timestamp is too old: a late or repeated request"}
	}
	signed := append([]byte(id+"."+timestamp+"."), body...)
	matches := 0
	for _, entry := range strings.Split(signatures, " ") {
		for _, fits := range keys {
			if fits(entry, signed) {
				matches++
			}
		}
	}
	if matches == 0 {
		return nil, &VerificationError{"signature_mismatch",
			"no signature matches: check that the secret is this endpoint's and that the body is the raw one"}
	}
	return &Verified{id, seconds}, nil
}

func keyOf(secret string) (func(entry string, signed []byte) bool, error) {
	if text := strings.TrimPrefix(secret, "whsec_"); text != secret {
		if key := decoded(text); len(key) >= 24 && len(key) <= 64 {
			return func(entry string, signed []byte) bool {
				mac := hmac.New(sha256.New, key)
				mac.Write(signed)
				return hmac.Equal([]byte(entry), []byte("v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))))
			}, nil
		}
	}
	if text := strings.TrimPrefix(secret, "whpk_"); text != secret {
		if point := decoded(text); len(point) == ed25519.PublicKeySize {
			return func(entry string, signed []byte) bool {
				text := strings.TrimPrefix(entry, "v1a,")
				return text != entry && ed25519.Verify(point, signed, decoded(text))
			}, nil
		}
	}
	return nil, errors.New("posthorn: this is not a signing secret: expected whsec_ or whpk_ and base64, usually of 32 bytes")
}

// Only the one canonical spelling, with padding.
func decoded(text string) []byte {
	bytes, err := base64.StdEncoding.DecodeString(text)
	if err != nil || base64.StdEncoding.EncodeToString(bytes) != text {
		return nil
	}
	return bytes
}

func valueOf(header http.Header, name string) (string, error) {
	var values []string
	for key, all := range header {
		if strings.EqualFold(key, name) {
			values = append(values, all...)
		}
	}
	if len(values) > 1 {
		return "", &VerificationError{"malformed_header", name + " came more than once"}
	}
	if len(values) == 0 || values[0] == "" {
		return "", &VerificationError{"missing_header", "the header " + name + " is missing"}
	}
	return values[0], nil
}
