package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// TestServeConnects has serve connect in each way that NATS knows: it is ready
// with the right credentials, and says what is wrong with others.
func TestServeConnects(t *testing.T) {
	dir := t.TempDir()
	seed, public := newKey(t, dir, nkeys.CreateUser)
	other, _ := newKey(t, dir, nkeys.CreateUser)
	p := newPKI(t)
	for _, tt := range []struct {
		name   string
		server func(o *server.Options)
		env    func(url string) map[string]string
		// wrong is laid over env; says is what /readyz must hold then.
		wrong map[string]string
		says  string
	}{
		{
			"password", func(o *server.Options) { o.Username, o.Password = "u", "pass-secret" },
			func(url string) map[string]string {
				return map[string]string{"NATS_URL": strings.Replace(url, "//", "//u:pass-secret@", 1)}
			},
			map[string]string{"NATS_URL": "WRONG:nats://u:pass-wrong@"},
			"authorization",
		},
		{
			"nkey", func(o *server.Options) { o.Nkeys = []*server.NkeyUser{{Nkey: public}} },
			func(url string) map[string]string {
				return map[string]string{"NATS_URL": url, "SNAPFLAME_NATS_NKEY": seed}
			},
			map[string]string{"SNAPFLAME_NATS_NKEY": other},
			"authorization",
		},
		{
			"TLS", func(o *server.Options) { o.TLSConfig, o.TLS = p.server(false), true },
			func(url string) map[string]string {
				return map[string]string{"NATS_URL": url, "SNAPFLAME_NATS_TLS_CA": p.ca}
			},
			map[string]string{"SNAPFLAME_NATS_TLS_CA": ""},
			"certificate",
		},
		{
			"mTLS", func(o *server.Options) { o.TLSConfig, o.TLS, o.TLSVerify = p.server(true), true, true },
			func(url string) map[string]string {
				return map[string]string{"NATS_URL": url, "SNAPFLAME_NATS_TLS_CA": p.ca, "SNAPFLAME_NATS_TLS_CERT": p.cert, "SNAPFLAME_NATS_TLS_KEY": p.key}
			},
			map[string]string{"SNAPFLAME_NATS_TLS_CERT": "", "SNAPFLAME_NATS_TLS_KEY": ""},
			"certificate",
		},
		{
			"context", func(o *server.Options) { o.Nkeys = []*server.NkeyUser{{Nkey: public}} },
			func(url string) map[string]string {
				b, _ := json.Marshal(map[string]string{"url": url, "nkey": seed})
				contexts := filepath.Join(dir, ".config", "nats", "context")
				if err := os.MkdirAll(contexts, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(contexts, "prod.json"), b, 0o600); err != nil {
					t.Fatal(err)
				}
				return map[string]string{"NATS_CONTEXT": "prod", "HOME": dir}
			}, nil, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := inProcess(t, tt.server).ClientURL()
			w := newWorld(t, func(w *world) {
				maps.Copy(w.env, tt.env(url))
			}).serve()
			if err := w.stop(); err != nil {
				t.Errorf("SIGTERM: %v", err)
			}
			if tt.wrong == nil {
				return
			}
			for k, v := range tt.wrong {
				if before, ok := strings.CutPrefix(v, "WRONG:"); ok {
					v = before + strings.TrimPrefix(url, "nats://")
				}
				w.env[k] = v
			}
			w.start()
			w.await("/readyz says what is wrong", func() bool {
				status, text := w.readyz()
				return status == http.StatusServiceUnavailable && strings.Contains(strings.ToLower(text), tt.says)
			})
			if all := w.logs.String(); strings.Contains(all, "pass-") {
				t.Errorf("the log holds a password:\n%s", all)
			}
		})
	}
}

// TestCredentialsExpireUnderARunningService: the server ends the connection, the
// service says why, and goes on with the new file by itself.
func TestCredentialsExpireUnderARunningService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	operator, _ := nkeys.CreateOperator()
	account, _ := nkeys.CreateAccount()
	user, _ := nkeys.CreateUser()
	accountID, _ := account.PublicKey()
	operatorID, _ := operator.PublicKey()
	userID, _ := user.PublicKey()
	claims := jwt.NewAccountClaims(accountID)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1, Consumer: -1}
	accountJWT, err := claims.Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	trusted := jwt.NewOperatorClaims(operatorID)
	resolver := &server.MemAccResolver{}
	if err := resolver.Store(accountID, accountJWT); err != nil {
		t.Fatal(err)
	}
	system, _ := nkeys.CreateAccount()
	systemID, _ := system.PublicKey()
	systemJWT, err := jwt.NewAccountClaims(systemID).Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolver.Store(systemID, systemJWT); err != nil {
		t.Fatal(err)
	}
	creds := filepath.Join(dir, "user.creds")
	issue := func(life time.Duration) {
		c := jwt.NewUserClaims(userID)
		c.Expires = time.Now().Add(life).Unix()
		token, err := c.Encode(account)
		if err != nil {
			t.Fatal(err)
		}
		seed, _ := user.Seed()
		file, err := jwt.FormatUserConfig(token, seed)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(creds, file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := inProcess(t, func(o *server.Options) {
		o.SystemAccount = systemID
		o.TrustedOperators, o.AccountResolver = []*jwt.OperatorClaims{trusted}, resolver
	})
	issue(8 * time.Second)
	w := newWorld(t, func(w *world) { w.env["NATS_URL"], w.env["NATS_CREDS"] = s.ClientURL(), creds }).serve()
	w.await("/readyz says that they have expired", func() bool {
		status, text := w.readyz()
		return status == http.StatusServiceUnavailable && strings.Contains(text, "refuses the credentials") && strings.Contains(text, "renew nats.creds")
	})
	if n := strings.Count(w.logs.String(), "refuses the credentials"); n == 0 || n > 20 {
		t.Errorf("the log says so %d times, want it said and not repeated at each try:\n%s", n, w.logs.tail())
	}
	issue(time.Hour)
	w.await("it goes on with the new ones", func() bool { return w.ready() })
}

// inProcess is a nats-server in this process.
func inProcess(t *testing.T, change func(o *server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 40 << 30, NoSigs: true, NoLog: true}
	change(o)
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return s
}

// newKey makes a key pair and writes its seed to a file.
func newKey(t *testing.T, dir string, create func() (nkeys.KeyPair, error)) (file, public string) {
	t.Helper()
	pair, err := create()
	if err != nil {
		t.Fatal(err)
	}
	seed, _ := pair.Seed()
	if public, err = pair.PublicKey(); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, public+".nk")
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, public
}

// pki is an authority with one certificate that serves both sides.
type pki struct {
	ca, cert, key string // files
	pool          *x509.CertPool
	pair          tls.Certificate
}

func newPKI(t *testing.T) *pki {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, &caKey.PublicKey, caKey)
	must(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, &key.PublicKey, caKey)
	must(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)
	p := &pki{ca: write("ca.pem", "CERTIFICATE", rootDER), cert: write("cert.pem", "CERTIFICATE", leafDER), key: write("key.pem", "PRIVATE KEY", keyDER), pool: x509.NewCertPool()}
	parsed, err := x509.ParseCertificate(rootDER)
	must(err)
	p.pool.AddCert(parsed)
	p.pair, err = tls.LoadX509KeyPair(p.cert, p.key)
	must(err)
	return p
}

func (p *pki) server(verify bool) *tls.Config {
	c := &tls.Config{Certificates: []tls.Certificate{p.pair}, ClientCAs: p.pool, MinVersion: tls.VersionTLS12}
	if verify {
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c
}
