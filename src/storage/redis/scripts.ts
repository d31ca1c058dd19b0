import { MAX_EARLY_MS } from '../record.js';

/*
 * The Lua scripts that gateways run in Redis; each is atomic. A key of an unexpected type, or one that should expire and
 * does not, is rubbish and is deleted.
 *
 * The key of the last failure is called `setback`; names of keys are part of the format.
 */

/** A longer pause is rubbish. */
const LONGEST_MS = 3_700_000;
/** So is a longer lease. */
const LONGEST_LEASE_MS = 10_000;
/** So are longer texts, in bytes; they are not read. The message of a failure may have 1,000 letters. */
const LONGEST_TEXT = 10_000;
const LONGEST_NUMBER = 20;
/** So are a snapshot of more fields, and more slots than all gateways together can use. */
const MOST_FIELDS = 2;
const MOST_SLOTS = 2_000;

const HELPERS = `
local function expect(key, kind)
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then redis.call('UNLINK', key) end
  if found == 'hash' and kind == 'hash' and redis.call('HLEN', key) > ${MOST_FIELDS} then redis.call('UNLINK', key) end
end
-- The text at a key; empty if there is none, or rubbish.
local function text(key)
  expect(key, 'string')
  if redis.call('STRLEN', key) > ${LONGEST_TEXT} then redis.call('UNLINK', key) end
  return redis.call('GET', key) or ''
end
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
-- The time of a snapshot, which is when it was requested; nil if there is none, if it is no number (nan is unequal to itself) or in the future.
local function takenAt(key)
  expect(key, 'hash')
  if redis.call('HSTRLEN', key, 'takenAt') > ${LONGEST_NUMBER} then redis.call('UNLINK', key) end
  local at = tonumber(redis.call('HGET', key, 'takenAt') or '')
  if at and at == at and at <= now() + ${MAX_EARLY_MS} then return at end
end
-- The text and time of a snapshot; the text is empty if it is too long.
local function snapshot(key, longest)
  local length = redis.call('HSTRLEN', key, 'text')
  local text = length <= tonumber(longest) and redis.call('HGET', key, 'text') or ''
  return text, redis.call('HGET', key, 'takenAt')
end
`;

/**
 * KEYS snapshot; ARGV newer than, longest text in bytes.
 *
 * Returns `[text, takenAt]` of a newer snapshot, `none` if there is no snapshot, or nothing.
 */
export const NEWEST = `${HELPERS}
local at = takenAt(KEYS[1])
if not at then return 'none' end
if at <= tonumber(ARGV[1]) then return false end
return { snapshot(KEYS[1], ARGV[2]) }
`;

/** Remembers which gateways were the last to share a listing. KEYS scope; ARGV scope, how long in ms. */
export const REMEMBER_SCOPE = `return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])`;

/** KEYS scope. Returns the scope that was remembered; empty if there is none. */
export const LAST_SCOPE = `${HELPERS}
return text(KEYS[1])
`;

/**
 * KEYS snapshot, setback, pause, lease; ARGV gateway, lease in ms, newer than, longest text in bytes, whether to
 * ignore the pause (1 or 0).
 *
 * Returns one of `['newer', text, takenAt]`, `['early', setback, ms left]`, `['ours', setback]`, `['theirs']`.
 */
export const LEASE = `${HELPERS}
local at = takenAt(KEYS[1])
if at and at > tonumber(ARGV[3]) then
  return { 'newer', snapshot(KEYS[1], ARGV[4]) }
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

/** KEYS lease; ARGV gateway, lease in ms. Returns 1 if the lease is the gateway's, otherwise 0. */
export const RENEW = `${HELPERS}
if text(KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`;

/**
 * Whether a snapshot would be written: unless there is a newer one. One from the future counts as none.
 *
 * KEYS snapshot; ARGV takenAt. Returns 1 or 0.
 */
export const IS_WANTED = `${HELPERS}
local at = takenAt(KEYS[1])
return (not at or at < tonumber(ARGV[1]) or at > now()) and 1 or 0
`;

/** Appends to an upload. KEYS upload; ARGV piece, ms until it expires. Returns its length. */
export const APPEND = `${HELPERS}
expect(KEYS[1], 'string')
local length = redis.call('APPEND', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return length
`;

/**
 * Writes a snapshot that was uploaded, unless the upload is not whole or there is a newer snapshot. One from the future
 * counts as none.
 *
 * KEYS snapshot, setback, pause, lease, upload; ARGV gateway, takenAt, length of the upload (negative if there is none),
 * ms until the snapshot expires, channel, topic, whether it ends a lease (1 or 0). Returns `lost` if the upload is not whole.
 */
export const WRITE = `${HELPERS}
expect(KEYS[5], 'string')
local isWhole = redis.call('STRLEN', KEYS[5]) == tonumber(ARGV[3])
local uploaded = isWhole and redis.call('GET', KEYS[5])
redis.call('UNLINK', KEYS[5])
local at = takenAt(KEYS[1])
local isNew = isWhole and (not at or at < tonumber(ARGV[2]) or at > now())
if isNew then
  redis.call('HSET', KEYS[1], 'takenAt', ARGV[2], 'text', uploaded)
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
if ARGV[7] == '1' then
  redis.call('UNLINK', KEYS[2], KEYS[3])
  if text(KEYS[4]) == ARGV[1] then redis.call('DEL', KEYS[4]) end
end
if isNew then redis.call('PUBLISH', ARGV[5], ARGV[6]) end
if not isWhole and tonumber(ARGV[3]) >= 0 then return 'lost' end
`;

/**
 * Ends a lease without a snapshot, unless it has expired.
 *
 * KEYS setback, pause, lease; ARGV gateway, failure or nothing, ms until it expires, ms until the next attempt, channel,
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

/** Asks the peers to write a snapshot that Redis has lost. ARGV channel, topic. */
export const REQUEST = `redis.call('PUBLISH', ARGV[1], ARGV[2])`;

/** Deletes an invalid snapshot, unless there is another by now. KEYS snapshot; ARGV takenAt. */
export const DISCARD = `${HELPERS}
if takenAt(KEYS[1]) and redis.call('HGET', KEYS[1], 'takenAt') == ARGV[1] then redis.call('UNLINK', KEYS[1]) end
`;

/** Deletes keys. */
export const FORGET = `redis.call('UNLINK', unpack(KEYS))`;

/** Pauses a service: no slots for this time. KEYS hold; ARGV ms, text. */
export const PAUSE = `redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])`;

/** How long after the next slot is free it stays reserved for a route; routes ask again sooner. */
const ROUTE_ASKS_WITHIN_MS = 200;

/**
 * Acquires one slot of the rate limit that all gateways share. Listings go before routes: the next slot is reserved
 * for a listing that waits while it asks again in time. After a listing has had a slot, the next one is reserved for a
 * route if one waits.
 *
 * KEYS places, hold, first (for whom the next slot is reserved: 1 for a listing, `route`), routes (there while a route
 * waits); ARGV slots in a window, the window in ms, a name for the slot, whether it is for a listing (1 or 0), whether
 * to ignore a pause (1 or 0).
 * Returns 0 if it was acquired, `[ms left, text]` of a pause, or how many ms to wait.
 */
export const ACQUIRE_SLOT = `${HELPERS}
local slots, window, isListing = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[4] == '1'
local held = redis.call('PTTL', KEYS[2])
if ARGV[5] == '0' and held > 0 and held <= ${LONGEST_MS} then return { held, text(KEYS[2]) } end
expect(KEYS[1], 'zset')
if redis.call('ZCARD', KEYS[1]) > ${MOST_SLOTS} then redis.call('UNLINK', KEYS[1]) end
local at = now()
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', at - window)
redis.call('ZREMRANGEBYSCORE', KEYS[1], at + 1, '+inf')
local used = redis.call('ZCARD', KEYS[1])
-- How long until there is a free slot.
local function leftMs()
  if used < slots then return 0 end
  local oldest = redis.call('ZRANGE', KEYS[1], used - slots, used - slots, 'WITHSCORES')
  return math.max(1, oldest[2] + window - at)
end
local function isSet(key)
  expect(key, 'string')
  local left = redis.call('PTTL', key)
  return left > 0 and left <= 2 * window
end
local function wait(ms)
  if not isListing then redis.call('SET', KEYS[4], '1', 'PX', 2 * window) end
  return ms
end
local isForRoute = text(KEYS[3]) == 'route'
if isSet(KEYS[3]) and isForRoute == isListing then return wait(50) end
local left = leftMs()
if left > 0 then
  if isListing then redis.call('SET', KEYS[3], '1', 'PX', 2 * window) end
  return wait(left)
end
redis.call('ZADD', KEYS[1], at, ARGV[3])
redis.call('PEXPIRE', KEYS[1], window)
used = used + 1
if isListing and isSet(KEYS[4]) then
  redis.call('SET', KEYS[3], 'route', 'PX', leftMs() + ${ROUTE_ASKS_WITHIN_MS})
else
  redis.call('DEL', KEYS[3])
end
redis.call('DEL', KEYS[4])
return 0
`;
