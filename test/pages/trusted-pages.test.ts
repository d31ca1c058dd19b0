/** Both pages go on working where only trusted documents are executed. */
import { expect, it, onTestFinished } from 'vitest';
import { BROWSER_TIMEOUT_MS, isBrowserMissing, launchBrowser } from '../support/browser.js';
import { ask, post, startGatewayProcess } from '../support/gateway-process.js';
import { temporaryFile } from '../support/temporary-files.js';

/** The settings that allow only this document. */
const onlyTrusting = (id: string, text: string): Record<string, string> => ({
  TRUSTED_DOCUMENTS: temporaryFile(JSON.stringify({ [id]: text })),
  TRUSTED_DOCUMENTS_ONLY: 'true',
});

it('a process enforces TRUSTED_DOCUMENTS_ONLY and RATE_LIMIT', async () => {
  const { address, output } = await startGatewayProcess({
    ...onlyTrusting('names', 'query Names($search: String) { chains(search: $search) { name } }'),
    RATE_LIMIT: '1/300',
    TRUSTED_PROXIES: 'loopback',
  });
  const postAs = (body: object, client: string) => post(address, body, { 'x-forwarded-for': client });
  const named = await postAs({ documentId: 'names', variables: { search: 'degen' } }, '192.0.2.1');
  expect(await named.json()).toEqual({ data: { chains: [{ name: 'Degen' }] } });
  expect((await postAs({ query: '{ chains { name } }' }, '192.0.2.1')).status).toBe(403);
  const statuses = new Set<number>();
  for (let nth = 0; nth < 300 && !statuses.has(429); nth++) {
    statuses.add((await postAs({ documentId: nth }, '192.0.2.1')).status);
  }
  expect([...statuses]).toEqual([400, 429]);
  expect((await postAs({ documentId: 'names' }, '192.0.2.2')).status).toBe(200);
  expect(output()).toContain('"msg":"All trusted documents are valid"');
});

it.skipIf(isBrowserMissing)(
  'both pages go on working where only trusted documents are executed',
  { timeout: 300_000 },
  async () => {
    const { address } = await startGatewayProcess(onlyTrusting('a', '{ __typename }'));
    expect(await ask(address, '{ chains { name } }')).toMatchObject({
      errors: [{ extensions: { code: 'DOCUMENT_NOT_TRUSTED' } }],
    });
    const browser = await launchBrowser(onTestFinished);
    const page = await browser.newPage();
    page.setDefaultTimeout(BROWSER_TIMEOUT_MS);
    const refused: string[] = [];
    const asked: string[] = [];
    page.on('response', (response) => {
      const text = response.request().postData();
      if (text !== null) asked.push(text);
      if (response.status() >= 400) refused.push(`${response.status()} ${text}`);
    });
    await page.goto(address);
    await expect.poll(() => asked.length, { timeout: BROWSER_TIMEOUT_MS }).toBeGreaterThan(1);
    await page.goto(`${address}/graphql`);
    await page.locator('.graphiql-query-editor .view-line').first().waitFor();
    await expect
      .poll(() => asked.join(), { timeout: BROWSER_TIMEOUT_MS })
      .toContain('query IntrospectionQuery');
    await page.locator('.graphiql-execute-button').click();
    await expect.poll(() => asked.join(), { timeout: BROWSER_TIMEOUT_MS }).toContain('FindTokens');
    expect(refused).toEqual([]);
  },
);
