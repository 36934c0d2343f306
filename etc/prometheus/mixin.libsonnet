// For users of monitoring mixins: the same rules and dashboards as the plain files beside this one.
{
  prometheusAlerts+:: std.parseYaml(importstr 'stocktake.rules.yaml'),
  prometheusRules+:: {},
  grafanaDashboards+:: {
    'stocktake-fleet.json': import '../grafana/stocktake-fleet.json',
    'stocktake-host.json': import '../grafana/stocktake-host.json',
    'stocktake-placement.json': import '../grafana/stocktake-placement.json',
  },
}
