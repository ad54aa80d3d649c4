#if Service
    import EvstoreWeb
    import Metrics
    import Testing

    @Suite("Metrics as Prometheus reads them")
    struct PrometheusTests {
        @Test("counters, gauges and histograms of seconds, with labels")
        func text() {
            let registry = PrometheusRegistry()
            Counter(label: "a", dimensions: [("of", "x\"y\\\n")], factory: registry).increment(by: 3)
            Gauge(label: "b", factory: registry).record(1.5)
            let timer = Timer(label: "c_seconds", factory: registry)
            timer.recordNanoseconds(2_000_000)
            timer.recordNanoseconds(20_000_000_000)
            let lines = registry.text.split(separator: "\n").map(String.init)
            #expect(lines.prefix(4) == ["# TYPE a_total counter", #"a_total{of="x\"y\\\n"} 3"#, "# TYPE b gauge", "b 1.5"])
            #expect(lines.contains("# TYPE c_seconds histogram"))
            #expect(lines.contains(#"c_seconds_bucket{le="0.001"} 0"#) && lines.contains(#"c_seconds_bucket{le="0.003"} 1"#))
            #expect(lines.contains(#"c_seconds_bucket{le="+Inf"} 2"#) && lines.contains("c_seconds_count 2"))
            #expect(lines.contains("c_seconds_sum 20.002"))
        }

        @Test("what a metric is stands before it, also before a counter's")
        func help() {
            let registry = PrometheusRegistry(help: ["a": "Of \"a\"\\\n.", "b": "B."])
            Counter(label: "a", factory: registry).increment()
            Gauge(label: "b", factory: registry).record(Double.infinity)
            let counter = #"# HELP a_total Of "a"\\\n."# + "\n# TYPE a_total counter\na_total 1\n"
            #expect(registry.text == counter + "# HELP b B.\n# TYPE b gauge\nb inf\n")
        }

        @Test("a gauge that is destroyed is gone, and a counter stays")
        func destroyed() {
            let registry = PrometheusRegistry()
            let (gauge, counter) = (Gauge(label: "lag", factory: registry), Counter(label: "a", factory: registry))
            gauge.record(1)
            counter.increment()
            gauge.destroy()
            counter.destroy()
            #expect(registry.text == "# TYPE a_total counter\na_total 1\n")
        }
    }
#endif
