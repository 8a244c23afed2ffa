"""What follows from the service's document.

Made by `scripts/python-sdk.sh generate` from the service's document. Do not edit.
"""
