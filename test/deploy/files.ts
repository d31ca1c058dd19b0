/** The files of .deploy as objects: the image, Docker Compose, Kubernetes, alerts and the dashboard. */
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { blockOf, ROOT, readText } from '../support/readme.js';

export const deployed = (name: string) => readText(`.deploy/${name}`);

export const imageEnv: Readonly<Record<string, string>> = Object.fromEntries(
  [...(/^ENV (.*)$/m.exec(deployed('Dockerfile'))?.[1] ?? '').matchAll(/(\w+)=(\S+)/g)].map(
    ([, name = '', value = '']) => [name, value],
  ),
);

interface ComposeService {
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: unknown;
  readonly stop_grace_period: string;
  readonly networks: Readonly<Record<string, { readonly ipv4_address: string }>>;
  readonly deploy: {
    readonly resources: Readonly<Record<'limits' | 'reservations', { readonly memory: string }>>;
  };
}

/** The gateways have all of these members, other services only some. */
export const compose = parse(deployed('compose.yaml'), { merge: true }) as {
  readonly services: Readonly<Record<'gateway-1' | 'gateway-2', ComposeService>> &
    Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly ipam: { config: readonly { subnet: string }[] } }>>;
};

export const kustomization = parse(deployed('kustomization.yaml')) as {
  readonly images: readonly { readonly name: string; readonly newTag: string }[];
  /** The settings, and the operator's rules. */
  readonly configMapGenerator: readonly [
    { readonly literals: readonly string[] },
    { readonly name: string; readonly files: readonly string[]; readonly options: object },
  ];
};

export const kubernetesEnv: Readonly<Record<string, string>> = Object.fromEntries(
  kustomization.configMapGenerator[0].literals.map((literal) => {
    const [name = ''] = literal.split('=', 1);
    return [name, literal.slice(name.length + 1)];
  }),
);

export interface KubernetesObject<Spec = unknown> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Spec;
}

export const kubernetes = parseAllDocuments(deployed('kubernetes.yaml')).map(
  (document) => document.toJS() as KubernetesObject,
);

export function kubernetesObject<Spec = unknown>(kind: string, name = 'gateway'): KubernetesObject<Spec> {
  const found = kubernetes.find((object) => object.kind === kind && object.metadata.name === name);
  if (!found) throw new Error(`Expected a ${kind} named ${name} in kubernetes.yaml`);
  return found as KubernetesObject<Spec>;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly image: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly resources: Readonly<Record<'requests' | 'limits', { readonly memory: string }>>;
  readonly securityContext: { readonly readOnlyRootFilesystem: boolean };
  readonly volumeMounts: readonly { readonly mountPath: string }[];
}

interface DeploymentSpec {
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly template: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: {
      readonly terminationGracePeriodSeconds: number;
      readonly securityContext: Readonly<Record<string, unknown>>;
      readonly containers: readonly [Container];
      readonly volumes: readonly object[];
    };
  };
}

export const deployment = kubernetesObject<DeploymentSpec>('Deployment');
export const gatewayContainer = deployment.spec.template.spec.containers[0];

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

export const RULES = join(ROOT, '.deploy/alerts.yaml');

export const alerts = (
  parse(deployed('alerts.yaml')) as { readonly groups: readonly { readonly rules: readonly Alert[] }[] }
).groups.flatMap(({ rules }) => rules);

export const prometheusConfig = parse(blockOf('.deploy/README.md', 'prometheus.yaml')) as {
  readonly rule_files: readonly string[];
  readonly scrape_configs: readonly {
    readonly job_name: string;
    readonly kubernetes_sd_configs?: unknown;
    readonly static_configs: readonly { readonly targets: readonly string[] }[];
  }[];
};

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
}

export const dashboard = JSON.parse(deployed('grafana.json')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
};

export const dashboardQueries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({
    title,
    expr: expr.replaceAll(/\$(job|namespace|instance)/g, '.*').replaceAll('$__rate_interval', '30s'),
  })),
);

/** Bytes of "640Mi" or "640M"; Docker's M is a mebibyte. */
export function bytesOf(text: string): number {
  const [, number] = /^(\d+)Mi?$/.exec(text) ?? [];
  if (!number) throw new Error(`Expected mebibytes such as 640Mi, got ${text}`);
  return Number(number) * 2 ** 20;
}
