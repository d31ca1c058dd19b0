/** Each alert fires and clears in its cases, and stays silent about failures that one client can cause. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryFile } from '../support/ends.js';
import { ALERT_CASES, type AlertCase, SILENT_CASES } from './alert-cases.js';
import { alerts, deployed, RULES } from './files.js';
import { areMissing } from './programs.js';

async function testRules(...tests: readonly object[]): Promise<string> {
  // JSON is valid YAML.
  const file = temporaryFile(JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }));
  const { stdout } = await promisify(execFile)('promtool', ['test', 'rules', file]);
  return stdout;
}

/** A test that an alert fires at `firing` (or not, if `fires` is false), and not at `quiet` and `cleared`. */
function promtoolTest(alert: string, { series, quiet, firing, cleared }: AlertCase, fires = true) {
  const expectation = (minutes: number, isFiring: boolean) => ({
    expr: `count(ALERTS{alertname="${alert}", alertstate="firing"})`,
    eval_time: `${minutes}m`,
    exp_samples: isFiring ? [{ labels: '{}', value: 1 }] : [],
  });
  return {
    name: alert,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({
      series: name.replace(',}', '}'),
      values,
    })),
    promql_expr_test: [expectation(quiet, false), expectation(firing, fires), expectation(cleared, false)],
  };
}

describe.skipIf(areMissing('promtool'))('alerts.yaml', () => {
  it('each alert has a case, a severity and texts', () => {
    expect(Object.keys(ALERT_CASES)).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert, labels, annotations } of alerts) {
      expect(['page', 'ticket'], alert).toContain(labels.severity);
      expect(Object.keys(annotations), alert).toEqual(['summary', 'description']);
    }
  });

  // One run of promtool for all cases; its output names an alert that fails.
  it('alerts fire and clear, and are silent about what one client causes and about too little data', async () => {
    const loud = Object.entries(ALERT_CASES).flatMap(([alert, cases]) =>
      [cases].flat().map((alertCase) => promtoolTest(alert, alertCase)),
    );
    const silent = SILENT_CASES.map(([why, alert, alertCase]) => ({
      ...promtoolTest(alert, alertCase, false),
      name: `${alert} if ${why}`,
    }));
    expect(await testRules(...loud, ...silent)).toContain('SUCCESS');
  });

  it('alerts page nobody for refusals that a client can cause, and require a minimum rate for ratios', () => {
    // No client can cause UPSTREAM_GONE.
    const byClients = /OVERLOADED|UPSTREAM_(?!GONE)|RATE_LIMITED|gateway_rate_limited|connections_cut/;
    for (const { alert, expr, labels } of alerts) {
      if (labels.severity === 'page' && byClients.test(expr))
        expect(expr, alert).toMatch(/scope(="process"|!="client")/);
      // A ratio of few events has no meaning, so the alert must also require a minimum rate.
      if (/rate\([^/]*\/|histogram_quantile/.test(expr))
        expect(expr, alert).toMatch(/\band sum by \(.*\) \(rate\(/);
    }
  });

  it('each alert that the guide to troubleshooting names exists', () => {
    const guide = deployed('troubleshooting.md');
    const named = [...guide.matchAll(/`(Gateway\w+)`/g)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(4);
    expect(alerts.map(({ alert }) => alert)).toEqual(expect.arrayContaining(named));
  });

  it('the alert for guarded values has advice', () => {
    const { annotations } = alerts.find(({ alert }) => alert === 'GatewayRowsHeldBack') ?? {};
    for (const word of ['block explorer', '"accept …"', '"keep …"', 'LISTING_RULES', 'HOLD_BACK_MS'])
      expect(annotations?.description).toContain(word);
  });
});
