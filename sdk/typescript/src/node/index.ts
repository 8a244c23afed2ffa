/**
 * Faster building blocks for the client in Node.
 *
 * @module
 */

export { accelerate } from './accelerate.js';
export { type KeepAliveOptions, keepAliveFetch } from './keep-alive-fetch.js';
