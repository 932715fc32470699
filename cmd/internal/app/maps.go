package app

import (
	"context"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/snapflame/snapflame/capture/cloudflare"
	"github.com/snapflame/snapflame/report"
	"github.com/snapflame/snapflame/report/sourcemap"
)

// versionMaps fetches the source maps of a version with its modules, once, and
// keeps the newest few. A version without maps, or a token that may not read
// them, is remembered too: the report says so and nobody waits again.
type versionMaps struct {
	cf  *cloudflare.Client
	log zerolog.Logger

	kept *lru[string, report.SourceMapper]
}

const (
	keptMaps = 8
	// mapsWithin bounds the fetch: a report must not wait for megabytes of maps.
	mapsWithin = 5 * time.Second
)

func newVersionMaps(cf *cloudflare.Client, log zerolog.Logger) *versionMaps {
	return &versionMaps{cf: cf, log: log, kept: newLRU[string, report.SourceMapper](keptMaps)}
}

var _ sourceMaps = (*versionMaps)(nil)

// For implements sourceMaps.
func (v *versionMaps) For(ctx context.Context, script, version string) report.SourceMapper {
	if script == "" || version == "" {
		return nil
	}
	m, err := v.kept.get(script+"@"+version, func() (report.SourceMapper, error) {
		ctx, cancel := context.WithTimeout(ctx, mapsWithin)
		defer cancel()
		modules, err := v.cf.Modules(ctx, script, version)
		if err != nil {
			v.log.Debug().Err(err).Str("script", script).Str("version", version).Msg("no source maps")
			return nil, nil //nolint:nilnil // a report without maps is the fallback, and it says so
		}
		set, added := new(sourcemap.Set), 0
		for _, m := range modules {
			module, isMap := strings.CutSuffix(m.Name, ".map")
			if !isMap {
				continue
			}
			if err := set.Add(module, m.Content); err != nil {
				v.log.Debug().Err(err).Str("module", m.Name).Msg("source map left out")
				continue
			}
			added++
		}
		if added == 0 {
			return nil, nil //nolint:nilnil // as above
		}
		return set, nil
	})
	if err != nil {
		return nil
	}
	return m
}
