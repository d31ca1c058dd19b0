/** Connects the official MCP client to a gateway, and makes and reads messages of tools. */
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import type { AtEnd } from '../support/ends.js';

export const REVISIONS = ['2026-07-28', '2025-11-25'] as const;
export type Revision = (typeof REVISIONS)[number];

export async function connect(address: string, revision: Revision, atEnd: AtEnd = onTestFinished) {
  const mode = revision === '2025-11-25' ? 'legacy' : { pin: revision };
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${address}/mcp`)));
  atEnd(() => client.close());
  return client;
}

export function textOf({ content }: CallToolResult): string {
  const [block, ...others] = content;
  if (block?.type !== 'text' || others.length > 0)
    throw new Error(`Expected one text, got ${JSON.stringify(content)}`);
  return block.text;
}

/** A message that calls a tool, in the form of revisions before 2026-07-28. */
export function callOf(name: string, args: object = {}): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
}
