"""Run a script under OpenTelemetry's instrumentation: `with_opentelemetry.py SCRIPT ARGUMENTS…`, spans to $SPANS_TO."""

from __future__ import annotations

import os
import runpy
import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.instrumentation.redis import RedisInstrumentor
from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(os.environ["SPANS_TO"])))
trace.set_tracer_provider(provider)
for instrumentor in (FastAPIInstrumentor, HTTPXClientInstrumentor, RedisInstrumentor, SQLAlchemyInstrumentor):
    instrumentor().instrument()

del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
