package demo

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

type object = map[string]any

// storm is what a Tail Worker sends while one room drowns, one tenant runs out
// of memory, and a deploy, a database and a lost connection make noise that
// reads alike. It comes in rounds, oldest first.
func storm(now time.Time) [][]object {
	var rounds [][]object
	for round := range 8 {
		at := now.Add(time.Duration(round-8) * 250 * time.Millisecond)
		events := load(at)
		for i := range 60 {
			events = append(events, overloaded(at.Add(time.Duration(i)*4*time.Millisecond), i))
		}
		if round == 1 {
			events = append(events, outOfMemory(at))
		}
		if round > 1 && round%3 == 0 {
			events = append(events, outOfMemory(at))
		}
		rounds = append(rounds, append(events, lookAlikes(at)...))
	}
	return rounds
}

// overloaded is the caller's record: the overload was caught and logged with
// the object's id, so the outcome is ok and the caller is not to blame.
func overloaded(at time.Time, i int) object {
	text := "Durable Object is overloaded. Too many requests queued."
	if i%7 == 6 {
		text = "Durable Object is overloaded. Requests queued for too long."
	}
	e := request("edge-gateway", gatewayVersion, at, "POST", "https://api.example.com/v1/rooms/REDACTED/msg", i)
	e["logs"] = []object{{"timestamp": at.UnixMilli(), "level": "error", "message": []object{{"msg": text, "overloaded": true, "durableObjectId": hotRoom}}}}
	return e
}

// outOfMemory is the object's own record.
func outOfMemory(at time.Time) object {
	return object{
		"scriptName": "tenant-store", "scriptVersion": object{"id": tenantVersion}, "entrypoint": "TenantStore", "durableObjectId": fatTenant,
		"executionModel": "durableObject", "outcome": "exceededMemory", "cpuTime": 4120, "wallTime": 6210, "truncated": false,
		"eventTimestamp": at.UnixMilli(), "event": object{"rpcMethod": "appendBatch"}, "logs": []object{}, "diagnosticsChannelEvents": []object{},
		"exceptions": []object{{"name": "Error", "message": "Durable Object's isolate exceeded its memory limit and was reset.", "timestamp": at.UnixMilli()}},
	}
}

// lookAlikes must open nothing.
func lookAlikes(at time.Time) []object {
	var out []object
	for i, text := range []string{
		"Durable Object reset because its code was updated.", "D1_ERROR: D1 DB is overloaded. Too many requests queued.",
		"Network connection lost.", "Parser error: The memory limit has been exceeded.", "Cannot resolve Durable Object due to transient issue on remote node.",
	} {
		e := request("edge-gateway", gatewayVersion, at, "GET", "https://api.example.com/v1/rooms/REDACTED", i)
		e["outcome"] = "exception"
		e["exceptions"] = []object{{"name": "Error", "message": text, "timestamp": at.UnixMilli()}}
		out = append(out, e)
	}
	return out
}

func request(script, version string, at time.Time, method, url string, i int) object {
	colo := []string{"FRA", "SIN", "IAD"}[i%3]
	return object{
		"scriptName": script, "scriptVersion": object{"id": version}, "scriptTags": []string{"cf:service=" + script, "cf:environment=production"},
		"executionModel": "stateless", "outcome": "ok", "cpuTime": 3, "wallTime": 9000 + i, "truncated": false, "eventTimestamp": at.UnixMilli(),
		"event":      object{"request": object{"method": method, "url": url, "headers": object{"content-length": strconv.Itoa(200_000 + 90_000*(i%5)), "cf-ray": fmt.Sprintf("a1b2c3d4e5f6%04x", i)}, "cf": object{"colo": colo}}, "response": object{"status": 503}},
		"exceptions": []object{}, "logs": []object{}, "diagnosticsChannelEvents": []object{},
	}
}

// load is what the healthy invocations of rooms cost: the Tail Worker's load lines.
func load(at time.Time) []object {
	var out []object
	for i := range 40 {
		out = append(out, loadLine(room(i), at, float64(3+i%9), float64(20+i), 4))
	}
	return append(out, loadLine(hotRoom, at, 240, 9_800, 38))
}

func loadLine(id string, at time.Time, cpu, wall float64, count int) object {
	return object{
		"snapflame": "load", "scriptName": "room-api-production", "scriptVersion": roomVersion, "entrypoint": "RoomObject", "durableObjectId": id,
		"cpuMs": cpu, "wallMs": wall, "count": count, "errors": 0, "from": at.Add(-250 * time.Millisecond).UnixMilli(), "to": at.UnixMilli(),
	}
}

func marshal(events []object) ([]byte, error) { return json.Marshal(events) }
