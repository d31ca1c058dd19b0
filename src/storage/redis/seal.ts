import { createHmac, type Hmac } from 'node:crypto';
import { isEqualText, RECORD_FORMAT, type RecordDigest, SHA256 } from '../record.js';

/** The purpose of a sealed text. It does not open for another one. */
export type SealPurpose = 'snapshot' | 'setback' | 'hold';

/**
 * Authenticates what gateways share in Redis. With a secret each text carries an HMAC that binds it to its
 * purpose, its topic and the scope; without one, texts are as they are.
 */
export interface Seal {
  /** Whether there is a secret, so that only gateways that know it can write what opens. */
  readonly isAuthentic: boolean;
  /** Part of the names of keys, so that gateways with another secret, or none, use other keys; may be empty. */
  readonly keyPart: string;
  /** The digest in the first line of the records on this topic. */
  digestFor(topic: string): RecordDigest;
  /** Puts the HMAC before the text. */
  close(purpose: SealPurpose, topic: string, text: string): string;
  /** The text without the HMAC; undefined if the HMAC is missing or wrong. */
  open(purpose: SealPurpose, topic: string, sealed: string): string | undefined;
}

const OPEN: Seal = {
  isAuthentic: false,
  keyPart: '',
  digestFor: () => SHA256,
  close: (_purpose, _topic, text) => text,
  open: (_purpose, _topic, sealed) => sealed,
};

const HMAC_LENGTH = 64;

/**
 * Creates the seal of the gateways with this secret.
 *
 * @param secret undefined for texts without an HMAC
 * @param scope a fingerprint of the upstream that they share: a text of another scope does not open
 */
export function createSeal(secret: string | undefined, scope: string): Seal {
  if (secret === undefined) return OPEN;

  function startHmac(purpose: SealPurpose | 'keys', topic: string): Hmac {
    // JSON has no line breaks: the first one separates these parts from the text.
    const bound = JSON.stringify([RECORD_FORMAT, scope, purpose, topic]);
    return createHmac('sha256', secret ?? '').update(`${bound}\n`);
  }

  function hmacOf(purpose: SealPurpose | 'keys', topic: string, text: string): string {
    return startHmac(purpose, topic).update(text).digest('hex');
  }

  return {
    isAuthentic: true,
    keyPart: `:${hmacOf('keys', '', '').slice(0, 16)}`,
    digestFor: (topic) => ({
      start: () => startHmac('snapshot', topic),
      misfit: 'its HMAC does not fit: it is altered, moved, or of another REDIS_SECRET',
    }),
    close: (purpose, topic, text) => hmacOf(purpose, topic, text) + text,
    open(purpose, topic, sealed) {
      const text = sealed.slice(HMAC_LENGTH);
      return isEqualText(sealed.slice(0, HMAC_LENGTH), hmacOf(purpose, topic, text)) ? text : undefined;
    },
  };
}
