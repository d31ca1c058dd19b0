import { MAX_EARLY_MS } from '../record.js';

/*
 * What gateways do in Redis, each in one step that no other gateway can come in between of. A key of another
 * type than expected, or one that should expire and does not, is rubbish and is cleared away.
 */

/** What asks for a longer pause is rubbish. */
const LONGEST_MS = 3_700_000;
/** So is what holds a lease for longer. */
const LONGEST_LEASE_MS = 10_000;
/** So are longer texts than these, in bytes; none of them is read. A setback's message may have 1,000 letters. */
const LONGEST_TEXT = 10_000;
const LONGEST_NUMBER = 20;
/** So is a snapshot of more fields, and more places than all gateways together can take. */
const MOST_FIELDS = 2;
const MOST_PLACES = 2_000;

const HELPERS = `
local function expect(key, kind)
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then redis.call('UNLINK', key) end
  if found == 'hash' and kind == 'hash' and redis.call('HLEN', key) > ${MOST_FIELDS} then redis.call('UNLINK', key) end
end
-- The text at a key, or an empty one in the place of none and of rubbish.
local function text(key)
  expect(key, 'string')
  if redis.call('STRLEN', key) > ${LONGEST_TEXT} then redis.call('UNLINK', key) end
  return redis.call('GET', key) or ''
end
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
-- Of nothing, of no time (nan is like no number, not even itself) and from the far future: nil.
local function takenAt(key)
  expect(key, 'hash')
  if redis.call('HSTRLEN', key, 'takenAt') > ${LONGEST_NUMBER} then redis.call('UNLINK', key) end
  local at = tonumber(redis.call('HGET', key, 'takenAt') or '')
  if at and at == at and at <= now() + ${MAX_EARLY_MS} then return at end
end
-- What a gateway reads of a snapshot; its text is empty where it is longer than that may be.
local function snapshot(key, longest)
  local length = redis.call('HSTRLEN', key, 'text')
  local text = length <= tonumber(longest) and redis.call('HGET', key, 'text') or ''
  return text, redis.call('HGET', key, 'takenAt')
end
`;

/**
 * KEYS snapshot; ARGV newer than, longest text in bytes.
 *
 * Returns `[text, takenAt]` of a newer snapshot, `none` where there is none at all, or nothing.
 */
export const NEWEST = `${HELPERS}
local at = takenAt(KEYS[1])
if not at then return 'none' end
if at <= tonumber(ARGV[1]) then return false end
return { snapshot(KEYS[1], ARGV[2]) }
`;

/**
 * KEYS snapshot, setback, pause, lease; ARGV gateway, lease in ms, newer than, longest text in bytes, whether it is
 * never too early (1 or 0).
 *
 * Returns one of `['taken', text, takenAt]`, `['early', setback, ms left]`, `['ours', setback]`, `['theirs']`.
 */
export const LEASE = `${HELPERS}
local at = takenAt(KEYS[1])
if at and at > tonumber(ARGV[3]) then
  return { 'taken', snapshot(KEYS[1], ARGV[4]) }
end
expect(KEYS[3], 'string')
local left = redis.call('PTTL', KEYS[3])
if ARGV[5] == '0' and left > 0 and left <= ${LONGEST_MS} then return { 'early', text(KEYS[2]), left } end
local holder = text(KEYS[4])
local lease = redis.call('PTTL', KEYS[4])
if lease == -1 or lease > ${LONGEST_LEASE_MS} then redis.call('UNLINK', KEYS[4]) end
if redis.call('SET', KEYS[4], ARGV[1], 'NX', 'PX', ARGV[2]) or holder == ARGV[1] then
  return { 'ours', text(KEYS[2]) }
end
return { 'theirs' }
`;

/** KEYS lease; ARGV gateway, lease in ms. */
export const RENEW = `${HELPERS}
if text(KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
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
  redis.call('UNLINK', KEYS[2], KEYS[3])
  if text(KEYS[4]) == ARGV[1] then redis.call('DEL', KEYS[4]) end
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
if text(KEYS[3]) ~= ARGV[1] then return end
if ARGV[2] ~= '' then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  redis.call('SET', KEYS[2], '1', 'PX', ARGV[4])
end
redis.call('DEL', KEYS[3])
redis.call('PUBLISH', ARGV[5], ARGV[6])
`;

/** Asks whoever has a snapshot that Redis has lost to write it again. ARGV channel, topic. */
export const REQUEST = `redis.call('PUBLISH', ARGV[1], ARGV[2])`;

/** Clears a snapshot that cannot be read away, unless another has come. KEYS snapshot; ARGV takenAt. */
export const DISCARD = `${HELPERS}
if takenAt(KEYS[1]) and redis.call('HGET', KEYS[1], 'takenAt') == ARGV[1] then redis.call('UNLINK', KEYS[1]) end
`;

/** Clears keys away. */
export const FORGET = `redis.call('UNLINK', unpack(KEYS))`;

/** Gives nobody a place for a while. KEYS hold; ARGV ms, text. */
export const HOLD = `redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])`;

/**
 * Takes one place under the ceiling of all gateways together.
 *
 * KEYS places, hold, first; ARGV places in a window, the window in ms, a name for the place, whether it goes
 * before others (1 or 0): then the next place is kept for it, as long as it comes back for it; whether the hold
 * is none (1 or 0).
 * Returns 0 when it is taken, `[ms left, text]` of a hold, or else how many ms to wait.
 */
export const PLACE = `${HELPERS}
local held = redis.call('PTTL', KEYS[2])
if ARGV[5] == '0' and held > 0 and held <= ${LONGEST_MS} then return { held, text(KEYS[2]) } end
expect(KEYS[1], 'zset')
if redis.call('ZCARD', KEYS[1]) > ${MOST_PLACES} then redis.call('UNLINK', KEYS[1]) end
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
