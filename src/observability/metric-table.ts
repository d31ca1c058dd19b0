/** All metrics of the gateway: type, names of labels, meaning. `npm run schema` prints them into `metrics.md`. */

/** Makes metrics of one type. Their texts are also the help of `/metrics`. */
const metricOf =
  <const Type extends string>(type: Type) =>
  <const Label extends string>(labels: readonly Label[], help: string) => ({ type, labels, help });

const counter = metricOf('counter');
const gauge = metricOf('gauge');
const histogram = metricOf('histogram');

export const METRICS = {
  gateway_listing_state: gauge(
    ['listing', 'state'],
    'State of a listing by its age: 1 for its current state (FRESH, STALE or EMPTY), 0 for the others.',
  ),
  gateway_listing_age_seconds: gauge(
    ['listing'],
    'Age of the snapshot that is served. Absent while the listing is EMPTY.',
  ),
  gateway_listing_rows: gauge(
    ['listing'],
    'Rows of the snapshot that is served; 0 while the listing is EMPTY.',
  ),
  gateway_listing_rejected_rows: gauge(
    ['listing'],
    'Rows that were left out of the snapshot that is served, as malformed, duplicate or contradictory.',
  ),
  gateway_listing_source: gauge(
    ['listing', 'source'],
    '1 for the service that sent the rows, or is asked for the first rows; other services are absent.',
  ),
  gateway_listing_gone: gauge(
    ['listing'],
    'Whether the last refresh failed because the upstream says that it is gone (1). The last good snapshot is still served.',
  ),
  gateway_listing_held_back: gauge(
    ['listing'],
    'Whether a whole refresh is held back (1). The last good snapshot is still served.',
  ),
  gateway_listing_refreshes_total: counter(
    ['listing', 'outcome'],
    'Refreshes that ended, by outcome: upstream or peer (where the new listing is from), older (than the served one), held_back, or the code of the failure.',
  ),
  gateway_listing_hold_backs_total: counter(
    ['listing', 'reason'],
    'Refreshes that were held back whole, by reason: shrink or rejected_rows. One refresh can have both.',
  ),
  gateway_listings_stored: gauge(
    [],
    'Whether the last write of each listing to SNAPSHOT_DIR succeeded (1). If not (0), also while it takes longer than 30 s, a restart would find an older one or none. Absent until the first attempt, and without SNAPSHOT_DIR.',
  ),
  gateway_held_back_rows: gauge(
    ['listing', 'fact'],
    'Rows that are held back, by the guarded value (fact): listed rows that the upstream contradicts, and new rows that wait to be listed, unless heldBack of a listed row has their address. Rows on which a keep rule of LISTING_RULES decides do not count.',
  ),
  gateway_held_back_oldest_seconds: gauge(
    ['listing'],
    'How long the oldest row that gateway_held_back_rows counts has been held back; 0 if it counts none.',
  ),
  gateway_accepted_changes_total: counter(
    ['listing', 'fact', 'by'],
    'Changes of guarded values that were accepted: by time (the upstream repeated them for HOLD_BACK_MS) or by the operator (LISTING_RULES).',
  ),
  gateway_contradictory_rows_total: counter(
    ['listing'],
    'Keys that one response contains several times with different guarded values. Each refresh counts them again.',
  ),
  gateway_token_list_omitted_rows: gauge(
    [],
    'Listed tokens of EVM chains that /tokenlist.json leaves out because its schema does not allow them; natives do not count. Absent until the first request for the list.',
  ),
  gateway_upstream_field_drift_total: counter(
    ['listing', 'drift'],
    'Fields of upstream rows that are new (appeared), or that a row lacks although all rows had them before (missing). Each field counts once at most.',
  ),
  gateway_upstream_requests_total: counter(
    ['upstream', 'path', 'outcome'],
    'Attempts at the upstream, including retries, by outcome: ok, or the code of the error.',
  ),
  gateway_upstream_request_duration_seconds: histogram(
    ['upstream', 'path', 'outcome'],
    'Duration of one attempt at the upstream, until its response was read or it failed.',
  ),
  gateway_upstream_breaker_state: gauge(
    ['upstream', 'state'],
    'The circuit breaker of the upstream: 1 for its current state, 0 for the others. Failed listing requests open it. States: closed; open (nothing is requested); half-open (one listing is requested as a trial).',
  ),
  gateway_upstream_route_breaker_state: gauge(
    ['upstream', 'tokens', 'state'],
    'The circuit breaker for routes: 1 for its current state, 0 for the others. Failed requests for the routes of listed tokens open it. States: closed; open (no routes are requested); half-open (one request is sent as a trial). Listings are requested in each state.',
  ),
  gateway_upstream_changeovers_total: counter(
    ['from', 'to'],
    'Changes from one service to its successor, without those that this gateway learned from another gateway.',
  ),
  gateway_route_rows_conflicting_total: counter(
    [],
    'Rows of routes that were left out because the token listing has other decimals for the same token.',
  ),
  gateway_sweep_tokens_known: gauge([], 'Tokens whose routes are known.'),
  gateway_sweep_tokens_left: gauge([], 'Bridgeable tokens whose routes are not known yet.'),
  gateway_sweep_age_seconds: gauge([], 'Age of the oldest known routes. Absent if no routes are known.'),
  gateway_sweep_interval_seconds: gauge(
    [],
    'The time in which the routes of each token are requested once (ROUTES_SWEEP_MS).',
  ),
  gateway_sweep_stopped: gauge(
    [],
    'Whether the sweep pauses now (1): the upstream has asked for a pause or is gone, or the map of routes is full.',
  ),
  gateway_operation_wait_seconds: histogram(
    ['reason'],
    'How long operations that could not be answered at once waited: for their turn, or for the upstream (a first listing, or routes).',
  ),
  gateway_rate_limited_clients: gauge(
    [],
    'Clients with operations that RATE_LIMIT refused in the last minute; 10000 at most. If there are many, perhaps the limit is too low, or one program uses many addresses.',
  ),
  gateway_requests_total: counter(
    ['cache', 'outcome', 'scope'],
    'Requests of clients, by the use of the response cache (hit, miss, refused; none: not an operation) and by outcome: ok, or the code of the most severe error. Overloads, RATE_LIMITED and failures of the upstream have a scope: client (it has caused them itself) or process.',
  ),
  gateway_request_duration_seconds: histogram(
    ['cache'],
    'Time from the complete request until its response is given to Node (ms in the log), by the use of the response cache.',
  ),
  gateway_response_bytes_total: counter(
    ['cache'],
    'Bytes of response bodies as sent, that is, after compression.',
  ),
  gateway_requests_in_flight: gauge(
    [],
    'Requests that were read and wait for their response. A hit counts only while it waits for an equal request.',
  ),
  gateway_response_cache_bytes: gauge([], 'Estimated size of the response cache.'),
  gateway_response_cache_entries: gauge([], 'Responses in the response cache.'),
  gateway_http_connections_cut_total: counter(
    ['reason'],
    'Connections that the server closed early or could not accept, by reason: too_many_connections, pipelining, slow_reader, response_bytes, request_bytes (sometimes only the request is refused, and the connection stays open), accept_failed.',
  ),
  gateway_redis_connected: gauge(
    [],
    'Whether snapshots are shared with other gateways now (1), or this gateway works alone (0). Absent if sharing is not configured.',
  ),
  gateway_log_lines_dropped_total: counter(
    [],
    'Lines of the log that were dropped because its reader is too slow.',
  ),
  gateway_build_info: gauge(
    ['version', 'revision'],
    'Always 1. The labels have the version, and the commit that was built.',
  ),
} as const;
