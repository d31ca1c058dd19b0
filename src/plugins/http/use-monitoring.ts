import type { Plugin } from 'graphql-yoga';
import type { Monitoring, MonitoringResponse } from '../../observability/monitoring.js';

/** Answers the monitoring paths. */
export function useMonitoring(monitoring: Monitoring): Plugin {
  return {
    // Not async: every other request passes through here, too.
    onRequest({ request, url, endResponse, fetchAPI }) {
      const answer = monitoring(request.method, url.pathname);
      if (!answer) return undefined;
      const respond = ({ status, headers, body }: MonitoringResponse) =>
        endResponse(new fetchAPI.Response(body, { status, headers: { ...headers } }));
      return answer instanceof Promise ? answer.then(respond) : respond(answer);
    },
  };
}
