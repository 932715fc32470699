package cloudflare_test

import (
	"strings"
	"testing"

	"github.com/snapflame/snapflame/capture"
	"github.com/snapflame/snapflame/capture/cloudflare"
	"github.com/snapflame/snapflame/capture/fakecf"
)

func boundAccount() *fakecf.Server {
	room := fakecf.Binding{Type: "durable_object_namespace", Name: "ROOM", NamespaceID: nsRoom, Class: "Room", Script: "room-production"}
	meet := fakecf.Binding{Type: "durable_object_namespace", Name: "MEETING", NamespaceID: nsMeet, Class: "Meeting"}
	gone := fakecf.Binding{Type: "durable_object_namespace", Name: "OLD", NamespaceID: "cccccccccccccccccccccccccccccccc", Class: "Old", Script: "old"}
	service := func(name string) fakecf.Binding { return fakecf.Binding{Type: "service", Name: "S", Service: name} }
	s := account()
	s.AddWorker(fakecf.Worker{Name: "caller", Versions: []fakecf.Version{
		{ID: v1, Bindings: []fakecf.Binding{meet}}, {ID: v3, Percent: 100, Bindings: []fakecf.Binding{room, gone, service("meeting")}},
	}})
	s.AddWorker(fakecf.Worker{Name: "meeting", Versions: []fakecf.Version{{ID: v2, Percent: 100, Bindings: []fakecf.Binding{meet}}}})
	s.AddWorker(fakecf.Worker{Name: "front", Versions: []fakecf.Version{{ID: v1, Percent: 100, Bindings: []fakecf.Binding{service("front"), service("deleted"), service("meeting")}}}})
	s.AddWorker(fakecf.Worker{Name: "tenant", Dispatch: "platform", Versions: []fakecf.Version{{ID: v2, Percent: 100, Bindings: []fakecf.Binding{room}}}})
	return s
}

func TestBindings(t *testing.T) {
	c := client(t, boundAccount())
	for name, tt := range map[string]struct {
		target capture.Target
		want   string
	}{
		"of the deployed version":         {capture.Target{Script: "caller"}, "room-production/Room old/Old"},
		"of the event's version":          {capture.Target{Script: "caller", VersionID: v1}, "meeting/Meeting"},
		"of its services, having none":    {capture.Target{Script: "front"}, "meeting/Meeting"},
		"its own":                         {capture.Target{Script: "meeting"}, "meeting/Meeting"},
		"none":                            {capture.Target{Script: "room-production"}, ""},
		"of a user Worker":                {capture.Target{Script: "tenant", DispatchNamespace: "platform"}, "room-production/Room"},
		"of an object's record's version": {capture.Target{Kind: capture.DurableObject, Script: "meeting", ObjectID: obj, VersionID: v2}, "meeting/Meeting"},
	} {
		got, err := c.Bindings(t.Context(), tt.target)
		if err != nil || words(got) != tt.want {
			t.Errorf("%s: %q, %v; want %q", name, words(got), err, tt.want)
		}
	}
	if _, err := c.Bindings(t.Context(), capture.Target{Script: "nobody"}); kindOf(err) != capture.FailNotFound {
		t.Errorf("of a Worker that is not there: %v", err)
	}
	if _, err := c.Bindings(t.Context(), capture.Target{Script: "caller", VersionID: "77777777-7777-4777-8777-777777777777"}); kindOf(err) != capture.FailNotFound {
		t.Errorf("of a version that is not there: %v", err)
	}
}

func words(list []cloudflare.Namespace) string {
	var out []string
	for _, n := range list {
		out = append(out, n.Script+"/"+n.Class)
	}
	return strings.Join(out, " ")
}

func TestBindingsAreAskedForOnce(t *testing.T) {
	s := boundAccount()
	c := client(t, s)
	for range 5 {
		if _, err := c.Bindings(t.Context(), capture.Target{Script: "caller", VersionID: v3}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.Requests()); n != 2 { // the version and the namespaces
		t.Errorf("%d requests, want 2: %+v", n, s.Requests())
	}
}
