package integration

import (
	"testing"

	_ "go.opentelemetry.io/collector/component/componenttest"
	_ "go.opentelemetry.io/collector/consumer/consumertest"
	_ "go.opentelemetry.io/collector/receiver/otlpreceiver"
	_ "go.opentelemetry.io/collector/receiver/receivertest"
	_ "go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	_ "go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	_ "go.opentelemetry.io/otel/log/logtest"
	_ "go.opentelemetry.io/otel/sdk/log"
)

func TestX(t *testing.T) {}
