package demo

import (
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/snapflame/snapflame/capture/fakecf"
)

//go:embed profiles
var profiles embed.FS

// The account of the demo. Ids are made up; their shapes are Cloudflare's.
const (
	account = "0123456789abcdef0123456789abcdef"
	token   = "demo-cloudflare-token" // opens the simulated account only

	gatewayVersion = "1b0d7a3c-55aa-4d1f-9c0e-7f52c6a1e004"
	roomVersion    = "9f1c2b7e-6d0a-4a55-8e43-0a5f4f0c1d22"
	roomUploaded   = "c0ffee00-1111-4222-8333-444455556666" // uploaded, never deployed: "latest" is wrong
	tenantVersion  = "4411eee5-2e4a-4819-9472-9ccfa031770d"
	roomNamespace  = "6f3b2a1c0d9e8f7a6b5c4d3e2f1a0b9c"
	tenantSpace    = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
	hotRoom        = "3fa1c07d5be2498a1d6e0b7c94f2538e6a1b2c3d4e5f60718293a4b5c6d7e8f9"
	fatTenant      = "a479cf2979ae3f73e97241ad061f53c55fa147c486908c9edbf7f5e3ccc58a7e"
)

// cloudflare is an account with a gateway, a chat room service and a tenant
// store. The hot room gives the recorded profile of an object that sets its
// schema up on every request, the tenant that of a metrics library.
func cloudflare(now func() time.Time) (*fakecf.Server, error) {
	s := &fakecf.Server{AccountID: account, Token: token, Speed: 20, Now: now}
	yesterday := now().Add(-24 * time.Hour)
	for _, w := range []fakecf.Worker{
		{Name: "edge-gateway", Versions: []fakecf.Version{{ID: gatewayVersion, Percent: 100, Created: yesterday}}},
		{Name: "room-api-production", Versions: []fakecf.Version{
			{ID: roomVersion, Percent: 100, Created: yesterday},
			{ID: roomUploaded, Created: now().Add(-time.Hour), Quiet: true},
		}},
		{Name: "tenant-store", Versions: []fakecf.Version{{ID: tenantVersion, Percent: 100, Created: yesterday}}},
	} {
		s.AddWorker(w)
	}
	s.AddNamespace(fakecf.Namespace{ID: roomNamespace, Name: "room-api-production_RoomObject", Class: "RoomObject", Script: "room-api-production"})
	s.AddNamespace(fakecf.Namespace{ID: tenantSpace, Name: "tenant-store_TenantStore", Class: "TenantStore", Script: "tenant-store"})
	s.AddObject(fakecf.Object{ID: hotRoom, Namespace: roomNamespace, Version: roomVersion})
	for i := range 40 {
		s.AddObject(fakecf.Object{ID: room(i), Namespace: roomNamespace, Version: roomVersion})
	}
	// Its isolate died; the next request loads a new one.
	s.AddObject(fakecf.Object{ID: fatTenant, Namespace: tenantSpace, Version: tenantVersion, LoadedFrom: now().Add(2 * time.Second)})
	return s, play(s, recorded{hotRoom, "cpu", "do-meter.cpu"}, recorded{fatTenant, "heap", "heap-metrics"},
		recorded{"edge-gateway", "cpu", "gateway-replacer.cpu"}, recorded{"", "cpu", "do-meter.cpu"}, recorded{"", "heap", "heap-metrics"})
}

// recorded is what a target's captures give from now on.
type recorded struct{ target, kind, file string }

func play(s *fakecf.Server, list ...recorded) error {
	for _, p := range list {
		data, err := profiles.ReadFile("profiles/" + p.file + ".pb.gz")
		if err != nil {
			return fmt.Errorf("recorded profile: %w", err)
		}
		s.SetProfile(p.target, p.kind, data)
	}
	return nil
}

// release is the change that the storm is about: the room now sets its schema
// up on every request.
func release(s *fakecf.Server) error {
	return play(s, recorded{hotRoom, "cpu", "do-schema.cpu"})
}

// room is the id of an ordinary room.
func room(i int) string { return strings.Repeat(fmt.Sprintf("%02x", 16+i), 32) }
