import type { NativeCurrency } from '../../domain/listing.js';
import { builder } from './builder.js';

/** NativeCurrency in the graph. */
export const NativeCurrencyType = builder.objectRef<NativeCurrency>('NativeCurrency').implement({
  description: 'What a chain charges fees in.',
  fields: (t) => ({
    chainKey: t.exposeString('chainKey', { description: '`chainKey` of the chain that it belongs to.' }),
    name: t.exposeString('name', { description: 'Full name, such as "Ether"; may be empty.' }),
    symbol: t.exposeString('symbol', { description: 'Symbol, such as "ETH"; not unique, and may be empty.' }),
    decimals: t.exposeInt('decimals', {
      description: 'Decimal places of an amount: 1 unit is 10^decimals of the smallest parts.',
    }),
    address: t.exposeString('address', {
      description:
        'Address that stands for it in token lists, as the upstream writes it; mostly a placeholder (0xEeee…) without a contract.',
    }),
  }),
});
