import { MAX_EARLY_MS } from './record.js';

/*
 * What gateways do in Redis, each in one step that no other gateway can come in between of. A key of another
 * type than expected, or one that should expire and does not, is rubbish and is cleared away.
 */

/** What asks for a longer pause is rubbish. */
const LONGEST_MS = 3_700_000;
/** So is what holds a lease for longer. */
const LONGEST_LEASE_MS = 10_000;

const HELPERS = `
local function expect(key, kind)
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then redis.call('DEL', key) end
end
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
-- Of nothing, of no time (nan is like no number, not even itself) and from the far future: nil.
local function takenAt(key)
  expect(key, 'hash')
  local at = tonumber(redis.call('HGET', key, 'takenAt') or '')
  if at and at == at and at <= now() + ${MAX_EARLY_MS} then return at end
end
`;

/**
 * KEYS snapshot; ARGV newer than.
 *
 * Returns `[text, takenAt]` of a newer snapshot, `none` where there is none at all, or nothing.
 */
export const NEWEST = `${HELPERS}
local at = takenAt(KEYS[1])
if not at then return 'none' end
if at <= tonumber(ARGV[1]) then return false end
return { redis.call('HGET', KEYS[1], 'text') or '', redis.call('HGET', KEYS[1], 'takenAt') }
`;

/**
 * KEYS snapshot, setback, pause, lease; ARGV gateway, lease in ms, newer than.
 *
 * Returns one of `['taken', text, takenAt]`, `['early', setback, ms left]`, `['ours', setback]`, `['theirs']`.
 */
export const TURN = `${HELPERS}
local at = takenAt(KEYS[1])
if at and at > tonumber(ARGV[3]) then
  return { 'taken', redis.call('HGET', KEYS[1], 'text') or '', redis.call('HGET', KEYS[1], 'takenAt') }
end
for key = 2, 4 do expect(KEYS[key], 'string') end
local left = redis.call('PTTL', KEYS[3])
if left > 0 and left <= ${LONGEST_MS} then return { 'early', redis.call('GET', KEYS[2]) or '', left } end
local lease = redis.call('PTTL', KEYS[4])
if lease == -1 or lease > ${LONGEST_LEASE_MS} then redis.call('DEL', KEYS[4]) end
if redis.call('SET', KEYS[4], ARGV[1], 'NX', 'PX', ARGV[2]) or redis.call('GET', KEYS[4]) == ARGV[1] then
  return { 'ours', redis.call('GET', KEYS[2]) or '' }
end
return { 'theirs' }
`;

/** KEYS lease; ARGV gateway, lease in ms. */
export const RENEW = `${HELPERS}
expect(KEYS[1], 'string')
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
`;

/**
 * Writes a snapshot unless there is a newer one; one from the future counts as none.
 *
 * KEYS snapshot, setback, pause, lease; ARGV gateway, takenAt, text, ms to keep it, channel, topic, whether
 * it ends a turn (1 or 0).
 */
export const WRITE = `${HELPERS}
local at = takenAt(KEYS[1])
local isNew = not at or at < tonumber(ARGV[2]) or at > now()
if isNew then
  redis.call('HSET', KEYS[1], 'takenAt', ARGV[2], 'text', ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
if ARGV[7] == '1' then
  redis.call('DEL', KEYS[2], KEYS[3])
  expect(KEYS[4], 'string')
  if redis.call('GET', KEYS[4]) == ARGV[1] then redis.call('DEL', KEYS[4]) end
end
if isNew then redis.call('PUBLISH', ARGV[5], ARGV[6]) end
`;

/**
 * Ends a turn that brought nothing, if it is not over already.
 *
 * KEYS setback, pause, lease; ARGV gateway, setback or nothing, ms to keep it, ms until the next try, channel,
 * topic.
 */
export const FAIL = `${HELPERS}
expect(KEYS[3], 'string')
if redis.call('GET', KEYS[3]) ~= ARGV[1] then return end
if ARGV[2] ~= '' then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  redis.call('SET', KEYS[2], '1', 'PX', ARGV[4])
end
redis.call('DEL', KEYS[3])
redis.call('PUBLISH', ARGV[5], ARGV[6])
`;

/** Asks whoever has a snapshot that Redis has lost to write it again. ARGV channel, topic. */
export const CALL = `redis.call('PUBLISH', ARGV[1], ARGV[2])`;

/** Clears a snapshot that cannot be read away, unless another has come. KEYS snapshot; ARGV takenAt. */
export const DISCARD = `${HELPERS}
expect(KEYS[1], 'hash')
if redis.call('HGET', KEYS[1], 'takenAt') == ARGV[1] then redis.call('DEL', KEYS[1]) end
`;

/** Clears keys away. */
export const FORGET = `redis.call('DEL', unpack(KEYS))`;

/** Gives nobody a place for a while. KEYS hold; ARGV ms. */
export const HOLD = `redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])`;

/**
 * Takes one place under the ceiling of all gateways together.
 *
 * KEYS places, hold, first; ARGV places in a window, the window in ms, a name for the place, whether it goes
 * before others (1 or 0): then the next place is kept for it, as long as it comes back for it.
 * Returns 0 when it is taken, or else how many ms to wait.
 */
export const PLACE = `${HELPERS}
local held = redis.call('PTTL', KEYS[2])
if held > 0 and held <= ${LONGEST_MS} then return held end
expect(KEYS[1], 'zset')
local at = now()
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', at - ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], at + 1, '+inf')
local taken = redis.call('ZCARD', KEYS[1])
local first = redis.call('PTTL', KEYS[3])
if ARGV[4] == '0' and first > 0 and first <= 2 * ARGV[2] then return 50 end
if taken < tonumber(ARGV[1]) then
  redis.call('DEL', KEYS[3])
  redis.call('ZADD', KEYS[1], at, ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 0
end
if ARGV[4] == '1' then redis.call('SET', KEYS[3], '1', 'PX', 2 * ARGV[2]) end
local oldest = redis.call('ZRANGE', KEYS[1], taken - ARGV[1], taken - ARGV[1], 'WITHSCORES')
return math.max(1, oldest[2] + ARGV[2] - at)
`;
