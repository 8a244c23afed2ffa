/**
 * What makes the client faster in Node.
 *
 * @module
 */

export { accelerate } from './accelerate.js';
export { type KeepAliveOptions, keepAliveFetch } from './keep-alive-fetch.js';
