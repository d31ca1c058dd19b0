import { beforeAll, describe, expect, it } from 'vitest';
import { startSharedGateway } from '../support/shared-gateway.js';
import { CHAIN_PICKER, ethChains, expectPickers } from './pickers.js';
import { ask } from './recipes/fetch.js';

const ORIGIN = 'https://page.example';

describe('fetch alone', () => {
  let endpoint: string;
  beforeAll(async () => {
    const gateway = await startSharedGateway();
    endpoint = gateway.endpoint;
    return gateway.end;
  });

  it('fills each of the three pickers with one query', async () => {
    await expectPickers(async <Data>(query: string, variables: Record<string, unknown>) => {
      const { data, errors } = await ask<Data>(query, variables, endpoint);
      expect(errors).toEqual([]);
      return data;
    });
  });

  it('sends a query and variables by GET', async () => {
    const address = new URL(endpoint);
    address.searchParams.set('query', CHAIN_PICKER);
    address.searchParams.set('variables', JSON.stringify({ search: 'eth' }));
    const response = await fetch(address, { headers: { accept: 'application/json' } });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ data: { chains: ethChains } });
  });

  it('gets the data that could be read, and the errors of the rest with their codes', async () => {
    const query = '{ tokenSearch(first: 101) { totalCount } chain(chainKey: "base") { name } }';
    const { data, errors } = await ask<object>(query, {}, endpoint);
    expect(data).toEqual({ tokenSearch: null, chain: { name: 'Base' } });
    expect(errors).toMatchObject([{ path: ['tokenSearch'], extensions: { code: 'BAD_USER_INPUT' } }]);
  });

  it('fails with the messages if there is no data', async () => {
    await expect(ask('{ chains { nickname } }', {}, endpoint)).rejects.toThrow(
      /Cannot query field "nickname"/,
    );
    await expect(ask('{', {}, endpoint)).rejects.toThrow(/Syntax Error/);
  });

  it('works on a page of another origin, by a preflight and by CORS headers', async () => {
    const preflight = await fetch(endpoint, {
      method: 'OPTIONS',
      headers: {
        origin: ORIGIN,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    });
    const allowed = (name: string) => preflight.headers.get(`access-control-allow-${name}`) ?? '';
    expect(preflight.ok).toBe(true);
    expect(['*', ORIGIN]).toContain(allowed('origin'));
    expect(allowed('methods')).toMatch(/\bPOST\b/);
    expect(allowed('headers')).toMatch(/\bcontent-type\b/i);
    expect(allowed('credentials')).toBe('');

    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { origin: ORIGIN, 'content-type': 'application/json' },
      body: JSON.stringify({ query: CHAIN_PICKER }),
    });
    expect(['*', ORIGIN]).toContain(response.headers.get('access-control-allow-origin'));
    expect(response.headers.get('access-control-expose-headers')).toContain('x-stale-listings');
  });
});
